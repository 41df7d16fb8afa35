---- plan
⋈ (client_id = id_b)
  client [client_id, name, country, income]
  π id_b
    client [id_b, income_b]
---- spark
SELECT
  client.client_id,
  client.name,
  client.country,
  client.income,
  client_2.client_id AS id_b
FROM client
INNER JOIN client AS client_2
  ON client.client_id = client_2.client_id
---- postgres
SELECT
  client.client_id,
  client.name,
  client.country,
  client.income,
  client_2.client_id AS id_b
FROM client
INNER JOIN client AS client_2
  ON client.client_id = client_2.client_id
