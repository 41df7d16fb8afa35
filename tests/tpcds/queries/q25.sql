-- Profit and loss of what was bought in the store, returned, and bought again by catalog.
SELECT i_item_id, s_store_id, sum(ss_net_profit) AS profit, sum(sr_net_loss) AS loss, sum(cs_net_profit) AS again
FROM store_sales, store_returns, catalog_sales, date_dim AS d1, date_dim AS d2, date_dim AS d3, store, item
WHERE d1.d_date_sk = ss_sold_date_sk AND i_item_sk = ss_item_sk AND s_store_sk = ss_store_sk
  AND ss_customer_sk = sr_customer_sk AND ss_item_sk = sr_item_sk AND ss_ticket_number = sr_ticket_number
  AND sr_returned_date_sk = d2.d_date_sk AND sr_customer_sk = cs_bill_customer_sk AND sr_item_sk = cs_item_sk
  AND cs_sold_date_sk = d3.d_date_sk AND d1.d_year <= d2.d_year AND d3.d_year BETWEEN 1998 AND 2003
GROUP BY i_item_id, s_store_id
ORDER BY i_item_id, s_store_id
