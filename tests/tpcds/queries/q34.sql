-- Customers with large baskets, of households that buy much.
SELECT c_last_name, c_first_name, c_salutation, ticket, things
FROM (
    SELECT ss_ticket_number AS ticket, ss_customer_sk AS customer, count(*) AS things
    FROM store_sales, date_dim, store, household_demographics
    WHERE ss_sold_date_sk = d_date_sk AND ss_store_sk = s_store_sk AND ss_hdemo_sk = hd_demo_sk
      AND (d_dom BETWEEN 1 AND 3 OR d_dom BETWEEN 25 AND 28) AND hd_vehicle_count > 0
      AND CASE WHEN hd_vehicle_count > 0 THEN hd_dep_count / hd_vehicle_count END > 1.2
      AND s_county = 'Williamson County'
    GROUP BY ss_ticket_number, ss_customer_sk
) AS basket JOIN customer ON customer = c_customer_sk
WHERE things BETWEEN 8 AND 20
ORDER BY c_last_name, c_first_name, c_salutation, ticket
