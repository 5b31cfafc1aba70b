//! Numbers made of many measurements.

/// The exponent of the power law that fits the points best: least squares on the logarithms.
pub fn exponent(points: &[(u64, f64)]) -> f64 {
    let logs: Vec<(f64, f64)> = points.iter().map(|(x, y)| ((*x as f64).ln(), y.ln())).collect();
    let count = logs.len() as f64;
    let mean_x = logs.iter().map(|(x, _)| x).sum::<f64>() / count;
    let mean_y = logs.iter().map(|(_, y)| y).sum::<f64>() / count;
    let covariance: f64 = logs.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    let variance: f64 = logs.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
    covariance / variance
}

/// The value below which that part of the samples lies. 0 of none.
pub fn quantile(samples: &mut [f64], part: f64) -> f64 {
    samples.sort_by(f64::total_cmp);
    let index = ((samples.len() as f64 * part) as usize).min(samples.len().saturating_sub(1));
    samples.get(index).copied().unwrap_or_default()
}

pub fn median(mut samples: Vec<f64>) -> f64 {
    quantile(&mut samples, 0.5)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn power_laws_are_found() {
        for power in [0.0, 1.0, 1.5, 2.0] {
            let points: Vec<_> = [1, 10, 100, 1000].map(|x| (x, 3.0 * (x as f64).powf(power))).into();
            assert!((exponent(&points) - power).abs() < 1e-9);
        }
    }

    #[test]
    fn quantiles() {
        let mut samples: Vec<f64> = (0..100).rev().map(f64::from).collect();
        assert_eq!(quantile(&mut samples, 0.5), 50.0);
        assert_eq!(quantile(&mut samples, 0.99), 99.0);
        assert_eq!(quantile(&mut samples, 1.0), 99.0);
        assert_eq!(quantile(&mut [], 0.5), 0.0);
    }
}
