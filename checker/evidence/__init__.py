"""Evidence that a green verdict means something: what a complete exploration never did, never reached, never needed."""
