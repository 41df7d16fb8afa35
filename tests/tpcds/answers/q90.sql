-- web_sales, household_demographics, time_dim, web_page
SELECT * FROM web_sales, household_demographics, time_dim, web_page
WHERE ws_sold_time_sk = t_time_sk AND ws_ship_hdemo_sk = hd_demo_sk AND ws_web_page_sk = wp_web_page_sk
  AND (t_hour >= 7 AND t_hour <= 10 OR t_hour >= 18 AND t_hour <= 21)
