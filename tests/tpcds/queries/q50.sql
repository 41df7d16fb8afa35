-- How long things were kept before they were returned.
SELECT s_store_name, s_state,
       sum(CASE WHEN sr_returned_date_sk - ss_sold_date_sk <= 30 THEN 1 ELSE 0 END) AS within_30,
       sum(CASE WHEN sr_returned_date_sk - ss_sold_date_sk > 30 AND sr_returned_date_sk - ss_sold_date_sk <= 60 THEN 1 ELSE 0 END) AS within_60,
       sum(CASE WHEN sr_returned_date_sk - ss_sold_date_sk > 60 THEN 1 ELSE 0 END) AS later
FROM store_sales, store_returns, store, date_dim AS d
WHERE d.d_year = 2001 AND d.d_moy BETWEEN 6 AND 9 AND ss_ticket_number = sr_ticket_number AND ss_item_sk = sr_item_sk
  AND sr_returned_date_sk = d.d_date_sk AND ss_customer_sk = sr_customer_sk AND ss_store_sk = s_store_sk
GROUP BY s_store_name, s_state
ORDER BY s_store_name, s_state
