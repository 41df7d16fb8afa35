---- plan
▷ ((client_id = client_id_2) OR isnull((client_id = client_id_2)))
  client [client_id, name, country, income]
  debt [client_id_2, debt, date]
---- spark
SELECT
  client.client_id,
  client.name,
  client.country,
  client.income
FROM client
LEFT ANTI JOIN main.debt AS debt
  ON client.client_id = debt.client_id OR (
    client.client_id = debt.client_id
  ) IS NULL
---- postgres
SELECT
  client.client_id,
  client.name,
  client.country,
  client.income
FROM client
WHERE
  NOT EXISTS(
    SELECT
      1
    FROM main.debt AS debt
    WHERE
      client.client_id = debt.client_id OR (
        client.client_id = debt.client_id
      ) IS NULL
  )
