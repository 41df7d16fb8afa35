-- Profit margins ranked within each level of the hierarchy of categories.
SELECT sum(ss_net_profit) / sum(ss_ext_sales_price) AS margin, i_category, i_class, grouping(i_category) + grouping(i_class) AS level,
       rank() OVER (PARTITION BY grouping(i_category) + grouping(i_class), CASE WHEN grouping(i_class) = 0 THEN i_category END
                    ORDER BY sum(ss_net_profit) / sum(ss_ext_sales_price) ASC) AS place
FROM store_sales, date_dim, item, store
WHERE d_year = 2001 AND d_date_sk = ss_sold_date_sk AND i_item_sk = ss_item_sk AND s_store_sk = ss_store_sk AND s_state = 'TN'
GROUP BY ROLLUP (i_category, i_class)
ORDER BY level DESC, i_category, place, i_class
