---- plan
σ (rank = 1)
  window rank() range unbounded preceding to current row AS rank, sum(income) range unbounded preceding to current row AS sum, first(income) rows -1 to 1 AS first over partition by country order by income DESC
    σ (country = 'US')
      client [client_id, name, country, income]
---- spark
SELECT
  q.client_id,
  q.name,
  q.country,
  q.income,
  q.rank,
  q.sum,
  q.`first`
FROM (
  SELECT
    client.client_id,
    client.name,
    client.country,
    client.income,
    RANK() OVER (PARTITION BY client.country ORDER BY client.income DESC NULLS LAST) AS rank,
    SUM(client.income) OVER (PARTITION BY client.country ORDER BY client.income DESC NULLS LAST RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS sum,
    FIRST(client.income) IGNORE NULLS OVER (PARTITION BY client.country ORDER BY client.income DESC NULLS LAST ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS `first`
  FROM client
  WHERE
    client.country = 'US'
) AS q
WHERE
  q.rank = 1
---- postgres
a window function cannot run outside Spark: its frames are not proved to mean the same outside Spark
