/** @module Numbers, durations and money as shown on pages. One locale for all, so that all readers see the same. */

const WHOLE = new Intl.NumberFormat('en-US')

export function count(value: number): string {
  return WHOLE.format(value)
}

export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`
}

export function duration(fromTime: string, toTime: string): string {
  const ms = Date.parse(toTime) - Date.parse(fromTime)
  return Number.isNaN(ms) ? '' : lasted(ms)
}

export function lasted(ms: number): string {
  if (ms < 1_000) return `${ms} ms`
  const seconds = ms / 1_000
  if (seconds < 60) return `${seconds.toFixed(1)} s`
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`
  if (seconds < 172_800) return `${Math.floor(seconds / 3_600)} h ${Math.round((seconds % 3_600) / 60)} min`
  return `${Math.round(seconds / 86_400)} days`
}

/** An exact decimal string with thousands separators. */
export function money(amount: string, currency: string | undefined): string {
  const [whole = '0', fraction] = amount.split('.')
  const marked = whole.replace(/\B(?=(\d{3})+$)/g, ',')
  return `${marked}${fraction === undefined ? '' : `.${fraction.padEnd(2, '0')}`}${currency === undefined ? '' : ` ${currency}`}`
}

/** A detail of a problem, which begins small and has no full stop, as a sentence. */
export const asSentence = (detail: string): string =>
  `${detail.charAt(0).toUpperCase()}${detail.slice(1)}${detail.endsWith('.') ? '' : '.'}`
