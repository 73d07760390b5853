"""Service: whether the server is alive and ready, its metrics, its status and legal pages.

For the operator, and for whoever asks who runs the service. `operations` answers /healthz and /readyz (`answers` has
their objects) and declares /metrics, which `serve/observe` writes; `pages` has /statut and /mentions-legales.
"""
