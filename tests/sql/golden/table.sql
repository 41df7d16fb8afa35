---- plan
client [client_id, name, country, income]
---- spark
SELECT
  client.client_id,
  client.name,
  client.country,
  client.income
FROM client
---- postgres
SELECT
  client.client_id,
  client.name,
  client.country,
  client.income
FROM client
