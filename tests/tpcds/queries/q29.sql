-- Quantities sold, returned and bought again by catalog.
SELECT i_item_id, i_item_desc, s_store_name, sum(ss_quantity) AS sold, sum(sr_return_quantity) AS returned, sum(cs_quantity) AS again
FROM store_sales
JOIN store_returns ON sr_ticket_number = ss_ticket_number AND sr_item_sk = ss_item_sk AND sr_customer_sk = ss_customer_sk
JOIN catalog_sales ON cs_bill_customer_sk = sr_customer_sk AND cs_item_sk = sr_item_sk
JOIN store ON s_store_sk = ss_store_sk
JOIN item ON i_item_sk = ss_item_sk
JOIN date_dim AS bought ON bought.d_date_sk = ss_sold_date_sk AND bought.d_year IN (1998, 1999, 2000, 2001)
JOIN date_dim AS later ON later.d_date_sk = cs_sold_date_sk AND later.d_year IN (1999, 2000, 2001, 2002)
GROUP BY i_item_id, i_item_desc, s_store_name
ORDER BY i_item_id, i_item_desc, s_store_name
