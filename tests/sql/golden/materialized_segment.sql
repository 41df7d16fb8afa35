---- plan
π client_id, judge, reason
  σ (judge = 'Reject')
    segment 1 [client_id, judge, reason]
---- spark
SELECT
  m_17.c0 AS client_id,
  m_17.c1 AS judge,
  m_17.c2 AS reason
FROM lineage_data.m_17 AS m_17
WHERE
  m_17.c1 = 'Reject'
---- postgres
SELECT
  m_17.c0 AS client_id,
  m_17.c1 AS judge,
  m_17.c2 AS reason
FROM lineage_data.m_17 AS m_17
WHERE
  m_17.c1 = 'Reject'
