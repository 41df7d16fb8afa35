---- plan
α (); 1 AS one
  client [client_id, name, country, income]
---- spark
SELECT
  1 AS one
FROM client
LIMIT 1
---- postgres
SELECT
  1 AS one
FROM client
LIMIT 1
