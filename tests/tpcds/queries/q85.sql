-- Reasons of web returns by people whose refund went to somebody alike.
SELECT substr(r_reason_desc, 1, 20) AS why, avg(ws_quantity) AS quantity, avg(wr_refunded_cash) AS cash, avg(wr_fee) AS fee
FROM web_sales, web_returns, web_page, customer_demographics AS cd1, customer_demographics AS cd2, customer_address, date_dim, reason
WHERE ws_web_page_sk = wp_web_page_sk AND ws_item_sk = wr_item_sk AND ws_order_number = wr_order_number AND ws_sold_date_sk = d_date_sk AND d_year <= 2002
  AND cd1.cd_demo_sk = wr_refunded_cdemo_sk AND cd2.cd_demo_sk = wr_returning_cdemo_sk AND ca_address_sk = wr_refunded_addr_sk AND r_reason_sk = wr_reason_sk
  AND ((cd1.cd_marital_status = 'M' AND ws_sales_price BETWEEN 1 AND 150) OR (cd1.cd_marital_status <> cd2.cd_gender AND ws_sales_price > 20))
  AND (ca_country = 'United States' AND ws_net_profit BETWEEN -3000 AND 3000)
GROUP BY r_reason_desc
ORDER BY why, quantity, cash, fee
