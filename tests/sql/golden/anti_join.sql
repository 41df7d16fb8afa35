---- plan
▷ (client_id = client_id_2)
  σ (country = 'US')
    client [client_id, name, country, income]
  σ (debt > 100)
    debt [client_id_2, debt, date]
---- spark
SELECT
  client.client_id,
  client.name,
  client.country,
  client.income
FROM client
LEFT ANTI JOIN main.debt AS debt
  ON client.client_id = debt.client_id AND debt.debt > 100
WHERE
  client.country = 'US'
---- postgres
SELECT
  client.client_id,
  client.name,
  client.country,
  client.income
FROM client
WHERE
  client.country = 'US'
  AND NOT EXISTS(
    SELECT
      1
    FROM main.debt AS debt
    WHERE
      client.client_id = debt.client_id AND debt.debt > 100
  )
