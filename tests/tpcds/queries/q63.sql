-- Months in which a manager's sales were far from the mean.
SELECT *
FROM (SELECT i_manager_id, d_moy, sum(ss_sales_price) AS sales, avg(sum(ss_sales_price)) OVER (PARTITION BY i_manager_id) AS mean
      FROM item JOIN store_sales ON ss_item_sk = i_item_sk JOIN date_dim ON ss_sold_date_sk = d_date_sk JOIN store ON ss_store_sk = s_store_sk
      WHERE d_month_seq IN (1200, 1201, 1202, 1203, 1204, 1205) AND i_category IN ('Books', 'Children', 'Electronics', 'Women', 'Music', 'Men')
      GROUP BY i_manager_id, d_moy) AS monthly
WHERE CASE WHEN mean > 0 THEN abs(sales - mean) / mean ELSE NULL END > 1
ORDER BY i_manager_id, mean, sales, d_moy
