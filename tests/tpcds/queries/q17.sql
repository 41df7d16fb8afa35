-- Items bought in the store, returned, and bought again by catalog: how the quantities vary.
SELECT i_item_id, s_state, count(ss_quantity) AS sold, avg(ss_quantity) AS usual, stddev_samp(ss_quantity) AS spread,
       count(sr_return_quantity) AS returned, count(cs_quantity) AS again
FROM store_sales
JOIN store_returns ON ss_customer_sk = sr_customer_sk AND ss_item_sk = sr_item_sk AND ss_ticket_number = sr_ticket_number
JOIN catalog_sales ON sr_customer_sk = cs_bill_customer_sk AND sr_item_sk = cs_item_sk
JOIN date_dim AS d1 ON d1.d_date_sk = ss_sold_date_sk
JOIN date_dim AS d2 ON d2.d_date_sk = sr_returned_date_sk
JOIN item ON i_item_sk = ss_item_sk
JOIN store ON s_store_sk = ss_store_sk
WHERE d1.d_year BETWEEN 1998 AND 2002 AND d2.d_year BETWEEN 1998 AND 2003
GROUP BY i_item_id, s_state
ORDER BY i_item_id, s_state
