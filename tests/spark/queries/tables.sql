-- The tables that the other files import.
CREATE TEMPORARY VIEW parcel AS SELECT * FROM VALUES
  (1, 'north', 2.50, DATE '2024-01-31', array('a', 'b')), (2, 'north', NULL, DATE '2024-02-29', array()),
  (3, 'South', 7.25, NULL, NULL), (4, NULL, 2.50, DATE '2023-12-31', array('b', NULL)), (5, 'south', 9.00, DATE '2024-01-31', array('c'))
AS parcel(id, depot, weight, sent, tags);
CREATE TEMPORARY VIEW scan AS SELECT * FROM VALUES
  (1, 10, 'in'), (1, 20, 'out'), (2, 15, 'in'), (2, 15, 'in'), (4, NULL, 'lost'), (NULL, 30, 'in'), (9, 40, 'out')
AS scan(parcel, minute, what);
