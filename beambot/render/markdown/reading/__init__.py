"""What the parser is helped with: fences, links, names that look like markup, and what stands in for them."""
