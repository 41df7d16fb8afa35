---- plan
⟕ (client_id = client_id_2)
  client [client_id, name, country, income]
  σ (debt > 100)
    debt [client_id_2, debt, date]
---- spark
SELECT
  client.client_id,
  client.name,
  client.country,
  client.income,
  q.client_id_2,
  q.debt,
  q.date
FROM client
LEFT OUTER JOIN (
  SELECT
    debt.client_id AS client_id_2,
    debt.debt,
    debt.date
  FROM main.debt AS debt
  WHERE
    debt.debt > 100
) AS q
  ON client.client_id = q.client_id_2
---- postgres
SELECT
  client.client_id,
  client.name,
  client.country,
  client.income,
  q.client_id_2,
  q.debt,
  q.date
FROM client
LEFT OUTER JOIN (
  SELECT
    debt.client_id AS client_id_2,
    debt.debt,
    debt.date
  FROM main.debt AS debt
  WHERE
    debt.debt > 100
) AS q
  ON client.client_id = q.client_id_2
