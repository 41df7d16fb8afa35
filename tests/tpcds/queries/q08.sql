-- Profit of stores whose postal code begins like one where preferred customers live.
WITH codes AS (
    SELECT substr(ca_zip, 1, 2) AS code FROM customer_address WHERE substr(ca_zip, 1, 1) IN ('3', '5', '7')
    INTERSECT
    SELECT code FROM (
        SELECT substr(ca_zip, 1, 2) AS code, count(*) AS people
        FROM customer_address JOIN customer ON ca_address_sk = c_current_addr_sk
        WHERE c_preferred_cust_flag = 'Y'
        GROUP BY substr(ca_zip, 1, 2)
        HAVING count(*) > 1
    )
)
SELECT s_store_name, sum(ss_net_profit) AS profit
FROM store_sales
JOIN date_dim ON ss_sold_date_sk = d_date_sk
JOIN store ON ss_store_sk = s_store_sk
JOIN codes ON substr(s_zip, 1, 1) = substr(code, 1, 1)
WHERE d_qoy = 2 AND d_year = 1998
GROUP BY s_store_name
ORDER BY s_store_name
