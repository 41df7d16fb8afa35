-- Web orders shipped from several places and never returned.
SELECT count(DISTINCT ws_order_number) AS orders, sum(ws_ext_ship_cost) AS shipping, sum(ws_net_profit) AS profit
FROM web_sales AS ws1, date_dim, customer_address, web_site
WHERE d_date BETWEEN DATE '1999-02-01' AND DATE '1999-12-01' AND ws1.ws_ship_date_sk = d_date_sk AND ws1.ws_ship_addr_sk = ca_address_sk AND ws1.ws_web_site_sk = web_site_sk
  AND EXISTS (SELECT * FROM web_sales AS ws2 WHERE ws1.ws_order_number = ws2.ws_order_number AND ws1.ws_item_sk <> ws2.ws_item_sk)
  AND NOT EXISTS (SELECT * FROM web_returns AS wr1 WHERE ws1.ws_order_number = wr1.wr_order_number)
