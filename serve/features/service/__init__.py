"""Service: whether the server is alive and ready, its metrics, its status and legal pages.

For the operator, and for whoever asks who runs the service.
"""
