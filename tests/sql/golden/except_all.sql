---- plan
− (client_id = client_id_2)
  client [client_id, name, country, income]
  debt [client_id_2, debt, date]
---- spark
SELECT
  client.client_id,
  client.name,
  client.country,
  client.income,
  debt.client_id AS client_id_2,
  debt.debt,
  debt.date
FROM client
LEFT OUTER JOIN main.debt AS debt
  ON client.client_id = debt.client_id
---- postgres
SELECT
  client.client_id,
  client.name,
  client.country,
  client.income,
  debt.client_id AS client_id_2,
  debt.debt,
  debt.date
FROM client
LEFT OUTER JOIN main.debt AS debt
  ON client.client_id = debt.client_id
