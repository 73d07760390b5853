"""Service: checks that the server is alive and ready, its metrics, its status page and its legal pages.

For the operator, and for people who want to know who runs the service. `operations` answers /healthz and /readyz
(`answers` has their objects) and declares /metrics, which `serve/observe` writes; `pages` has /statut and
/mentions-legales.
"""
