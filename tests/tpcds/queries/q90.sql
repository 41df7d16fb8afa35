-- The ratio of sales in the morning to those in the evening.
SELECT CAST(morning AS decimal(15, 4)) / CAST(evening AS decimal(15, 4)) AS ratio
FROM (SELECT count(*) AS morning FROM web_sales, household_demographics, time_dim, web_page
      WHERE ws_sold_time_sk = t_time_sk AND ws_ship_hdemo_sk = hd_demo_sk AND ws_web_page_sk = wp_web_page_sk AND t_hour BETWEEN 7 AND 10 AND wp_char_count BETWEEN 1000 AND 5200) AS am,
     (SELECT count(*) AS evening FROM web_sales, household_demographics, time_dim, web_page
      WHERE ws_sold_time_sk = t_time_sk AND ws_ship_hdemo_sk = hd_demo_sk AND ws_web_page_sk = wp_web_page_sk AND t_hour BETWEEN 18 AND 21 AND wp_char_count BETWEEN 1000 AND 5200) AS pm
