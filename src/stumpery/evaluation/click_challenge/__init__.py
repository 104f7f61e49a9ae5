"""Click challenge (Exploration and Exploitation Challenge 2011): protocol, result, tables as streams, submissions."""
