-- Averages of items by state, with totals that say what they sum.
SELECT i_category, s_state, grouping(s_state) AS all_states, avg(ss_quantity) AS quantity, avg(ss_list_price) AS price, avg(ss_coupon_amt) AS coupon
FROM store_sales, customer_demographics, date_dim, store, item
WHERE ss_sold_date_sk = d_date_sk AND ss_item_sk = i_item_sk AND ss_store_sk = s_store_sk AND ss_cdemo_sk = cd_demo_sk
  AND cd_gender = 'F' AND cd_marital_status IN ('W', 'D') AND d_year = 1998 AND s_state IN ('TN', 'SD')
GROUP BY ROLLUP (i_category, s_state)
ORDER BY i_category, s_state, all_states
