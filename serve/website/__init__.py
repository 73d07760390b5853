"""The pages: what a person sees of the service in a browser. ARCHITECTURE.md has the way of one."""
