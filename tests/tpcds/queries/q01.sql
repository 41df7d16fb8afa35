-- Customers whose returns in a year were far above what is usual in that store.
WITH returned AS (
    SELECT sr.sr_customer_sk AS customer, sr.sr_store_sk AS shop, sum(sr.sr_return_amt) AS amount
    FROM store_returns AS sr JOIN date_dim AS d ON d.d_date_sk = sr.sr_returned_date_sk
    WHERE d.d_year = 2000
    GROUP BY sr.sr_customer_sk, sr.sr_store_sk
)
SELECT c.c_customer_id, r.amount
FROM returned AS r
JOIN store AS s ON s.s_store_sk = r.shop AND s.s_state = 'TN'
JOIN customer AS c ON c.c_customer_sk = r.customer
WHERE r.amount > (SELECT 1.2 * avg(o.amount) FROM returned AS o WHERE o.shop = r.shop)
ORDER BY c.c_customer_id, r.amount
