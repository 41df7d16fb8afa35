"""The tab's API, one file a resource."""
