"""Pure functions of a live test: assign units, judge events, count units, close stages."""
