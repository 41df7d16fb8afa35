-- Small baskets of some households.
SELECT c_last_name, c_first_name, c_preferred_cust_flag, ticket, things
FROM (SELECT ss_ticket_number AS ticket, ss_customer_sk AS customer, count(*) AS things
      FROM store_sales, date_dim, store, household_demographics
      WHERE ss_sold_date_sk = d_date_sk AND ss_store_sk = s_store_sk AND ss_hdemo_sk = hd_demo_sk AND d_dom BETWEEN 1 AND 2
        AND (hd_buy_potential = '>10000' OR hd_buy_potential = 'Unknown') AND hd_vehicle_count > 0 AND d_year IN (1998, 1999, 2000, 2001, 2002)
      GROUP BY ss_ticket_number, ss_customer_sk) AS basket, customer
WHERE customer = c_customer_sk AND things BETWEEN 1 AND 12
ORDER BY things DESC, c_last_name, c_first_name, ticket
