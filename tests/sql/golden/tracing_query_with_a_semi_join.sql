---- plan
⋉ (client_id = client_id_2)
  π client_id, name
    client [client_id, name, country, income]
  σ (debt > 100)
    debt [client_id_2, debt, date]
---- spark
SELECT
  client.client_id,
  client.name
FROM client
LEFT SEMI JOIN main.debt AS debt
  ON client.client_id = debt.client_id AND debt.debt > 100
---- postgres
SELECT
  client.client_id,
  client.name
FROM client
WHERE
  EXISTS(
    SELECT
      1
    FROM main.debt AS debt
    WHERE
      client.client_id = debt.client_id AND debt.debt > 100
  )
