/** @module Units with exact conversions: mass, length, time, bytes and others; currencies with their hundredths. */

export interface Unit {
  readonly dimension: string
  readonly factor: number
  /** Added after multiplying by the factor, for temperature scales with different zeros. */
  readonly offset?: number
}

export interface Quantity {
  /** The number as written, in `unit`. */
  readonly value: number
  readonly unit: Unit
  /** The other reading of an amount whose dot may be a decimal point or a thousands separator: `3.459 EUR`. */
  readonly otherwise?: number
}

type Row = readonly [factor: number, ...names: string[]]

/** Units by dimension. Names are case-sensitive; those longer than three letters also match in lower case. */
const TABLE: Readonly<Record<string, readonly Row[]>> = {
  mass: [
    [1e-6, 'ug', 'µg', 'μg', 'mcg', 'microgram', 'micrograms'],
    [1e-3, 'mg', 'milligram', 'milligrams'],
    [1, 'g', 'gram', 'grams'],
    [1e3, 'kg', 'kilogram', 'kilograms', 'kilo', 'kilos'],
    [1e6, 't', 'tonne', 'tonnes'],
    [453.59237, 'lb', 'lbs', 'pound', 'pounds'],
    [28.349523125, 'oz', 'ounce', 'ounces'],
  ],
  length: [
    [1e-3, 'mm', 'millimetre', 'millimetres', 'millimeter', 'millimeters'],
    [1e-2, 'cm', 'centimetre', 'centimetres', 'centimeter', 'centimeters'],
    [1, 'm', 'metre', 'metres', 'meter', 'meters'],
    [1e3, 'km', 'kilometre', 'kilometres', 'kilometer', 'kilometers'],
    [0.0254, 'in', 'inch', 'inches'],
    [0.3048, 'ft', 'foot', 'feet'],
    [0.9144, 'yd', 'yard', 'yards'],
    [1609.344, 'mi', 'mile', 'miles'],
  ],
  time: [
    [1e-3, 'ms', 'msec', 'millisecond', 'milliseconds'],
    [1, 's', 'sec', 'secs', 'second', 'seconds'],
    [60, 'min', 'mins', 'minute', 'minutes'],
    [3600, 'h', 'hr', 'hrs', 'hour', 'hours'],
    [86_400, 'd', 'day', 'days'],
    [604_800, 'wk', 'week', 'weeks'],
  ],
  // A month has no fixed length in days.
  months: [
    [1, 'mo', 'month', 'months'],
    [3, 'quarter', 'quarters'],
    [12, 'yr', 'yrs', 'year', 'years'],
  ],
  bytes: [
    [1, 'B', 'byte', 'bytes'],
    [1e3, 'kB', 'KB', 'kilobyte', 'kilobytes'],
    [1e6, 'MB', 'megabyte', 'megabytes'],
    [1e9, 'GB', 'gigabyte', 'gigabytes'],
    [1e12, 'TB', 'terabyte', 'terabytes'],
    [2 ** 10, 'KiB', 'kibibyte', 'kibibytes'],
    [2 ** 20, 'MiB', 'mebibyte', 'mebibytes'],
    [2 ** 30, 'GiB', 'gibibyte', 'gibibytes'],
    [2 ** 40, 'TiB', 'tebibyte', 'tebibytes'],
  ],
  volume: [
    [1e-6, 'ul', 'uL', 'µl', 'µL', 'μl', 'μL', 'microlitre', 'microlitres', 'microliter', 'microliters'],
    [1e-3, 'cm3', 'cm³'],
    [1e3, 'm3', 'm³', 'cubic metre', 'cubic metres', 'cubic meter', 'cubic meters'],
    [1e-3, 'ml', 'mL', 'millilitre', 'millilitres', 'milliliter', 'milliliters'],
    [1e-2, 'cl', 'cL'],
    [0.1, 'dl', 'dL'],
    [1, 'l', 'litre', 'litres', 'liter', 'liters'],
    [100, 'hl', 'hL', 'hectolitre', 'hectolitres', 'hectoliter', 'hectoliters'],
  ],
  ratio: [
    [1e-2, '%', 'percent', 'pct', 'per cent'],
    [1e-3, '‰'],
    [1e-4, 'bp', 'bps', 'basis points'],
    [1e-6, 'ppm'],
    [1e-9, 'ppb'],
  ],
  voltage: [
    [1e-3, 'mV'],
    [1, 'V', 'volt', 'volts'],
    [1e3, 'kV'],
  ],
  power: [
    [1, 'W', 'watt', 'watts'],
    [1e3, 'kW', 'kilowatt', 'kilowatts'],
    [1e6, 'MW', 'megawatt', 'megawatts'],
    [1e9, 'GW', 'gigawatt', 'gigawatts'],
  ],
  energy: [
    [1, 'Wh'],
    [1e3, 'kWh'],
    [1e6, 'MWh'],
    [1e9, 'GWh'],
    [1 / 3600, 'J', 'joule', 'joules'],
    [1e3 / 3600, 'kJ', 'kilojoule', 'kilojoules'],
    [1e6 / 3600, 'MJ', 'megajoule', 'megajoules'],
  ],
  current: [
    [1e-3, 'mA'],
    [1, 'A', 'amp', 'amps', 'ampere', 'amperes'],
  ],
  pressure: [
    [1, 'Pa'],
    [100, 'hPa', 'mbar', 'millibar'],
    [1e3, 'kPa'],
    [1e5, 'bar'],
    [6894.757293168, 'psi'],
    [1e6, 'MPa'],
  ],
  area: [
    [1e-4, 'cm2', 'cm²'],
    [1, 'm2', 'm²', 'sqm', 'square metre', 'square metres', 'square meter', 'square meters'],
    [1e4, 'ha', 'hectare', 'hectares'],
    [0.09290304, 'sqft', 'ft2', 'ft²', 'square foot', 'square feet'],
    [4046.8564224, 'acre', 'acres'],
    [1e6, 'km2', 'km²'],
  ],
  speed: [
    [1, 'm/s'],
    [1 / 3.6, 'km/h', 'kph', 'kmh'],
    [0.44704, 'mph'],
  ],
  concentration: [
    [1e-6, 'ug/l', 'µg/l', 'μg/l'],
    [1e-3, 'mg/l'],
    [1e-2, 'mg/dl'],
    [1, 'g/L', 'g/l'],
    [10, 'g/dl'],
  ],
  amount: [
    [1e-3, 'umol/l', 'µmol/l', 'μmol/l'],
    [1, 'mmol/l'],
  ],
  rate: [
    [1e3, 'kbps', 'kbit/s'],
    [1e6, 'Mbps', 'Mbit/s'],
    [1e9, 'Gbps', 'Gbit/s'],
  ],
  frequency: [
    [1, 'Hz', 'hertz'],
    [1e3, 'kHz'],
    [1e6, 'MHz'],
    [1e9, 'GHz'],
  ],
}

const TEMPERATURES: readonly (readonly [name: string, unit: Unit])[] = [
  ['°C', { dimension: 'temperature', factor: 1, offset: 273.15 }],
  ['C', { dimension: 'temperature', factor: 1, offset: 273.15 }],
  ['celsius', { dimension: 'temperature', factor: 1, offset: 273.15 }],
  ['°F', { dimension: 'temperature', factor: 5 / 9, offset: 459.67 * (5 / 9) }],
  ['F', { dimension: 'temperature', factor: 5 / 9, offset: 459.67 * (5 / 9) }],
  ['fahrenheit', { dimension: 'temperature', factor: 5 / 9, offset: 459.67 * (5 / 9) }],
  ['K', { dimension: 'temperature', factor: 1 }],
  ['kelvin', { dimension: 'temperature', factor: 1 }],
]

const CURRENCIES: ReadonlySet<string> = new Set(
  (
    'AED ARS AUD BGN BRL CAD CHF CLP CNY COP CZK DKK EGP EUR GBP HKD HUF IDR ILS INR ISK JPY KES KRW MAD MXN MYR NGN NOK NZD PEN PHP ' +
    'PKR PLN RON RSD RUB SAR SEK SGD THB TRY TWD UAH USD VND ZAR'
  ).split(' '),
)
const SYMBOLS: ReadonlyMap<string, string> = new Map([
  ['$', 'USD'],
  ['US$', 'USD'],
  ['€', 'EUR'],
  ['£', 'GBP'],
  ['₹', 'INR'],
  ['₩', 'KRW'],
  ['₪', 'ILS'],
  ['₺', 'TRY'],
  ['₴', 'UAH'],
])
const NAMED: ReadonlyMap<string, string> = new Map([
  ['euro', 'EUR'],
  ['euros', 'EUR'],
  ['us dollar', 'USD'],
  ['us dollars', 'USD'],
])
const SCALES: ReadonlyMap<string, number> = new Map([
  ['k', 1e3],
  ['thousand', 1e3],
  ['m', 1e6],
  ['mn', 1e6],
  ['million', 1e6],
  ['bn', 1e9],
  ['billion', 1e9],
  ['cent', 1e-2],
  ['cents', 1e-2],
])

const UNITS: ReadonlyMap<string, Unit> = new Map<string, Unit>([
  ...Object.entries(TABLE).flatMap(([dimension, rows]) =>
    rows.flatMap(([factor, ...names]) => names.map((name): [string, Unit] => [name, { dimension, factor }])),
  ),
  ...TEMPERATURES,
])

const BY_LOWER = new Map<string, Unit | undefined>()
for (const [name, unit] of UNITS) BY_LOWER.set(name.toLowerCase(), BY_LOWER.has(name.toLowerCase()) ? undefined : unit)

const UNIT_MAX_CHARS = 24

/** `kg`, `Minutes`, `EUR`, `€`, `k EUR`, `USD cents`; undefined for a unit that is not in the table. */
export function readUnit(name: string): Unit | undefined {
  if (name.length > UNIT_MAX_CHARS) return undefined
  const exact = UNITS.get(name)
  if (exact !== undefined) return exact
  const lower = name.toLowerCase()
  return (name.length > 3 ? UNITS.get(lower) : undefined) ?? readCurrency(name)
}

/** The unit of the last word of a key, which is in lower case (`max_open_mw`); undefined if two units differ only in case. */
export function readKeyUnit(word: string): Unit | undefined {
  return readUnit(word) ?? (word.length > 1 ? BY_LOWER.get(word) : undefined)
}

function readCurrency(name: string): Unit | undefined {
  const currency = currencyOf(name)
  if (currency !== undefined) return { dimension: currency, factor: 1 }
  const space = name.indexOf(' ')
  if (space < 0) return undefined
  const [first, second] = [name.slice(0, space), name.slice(space + 1)]
  return scaled(first, second) ?? scaled(second, first)
}

function scaled(scale: string, name: string): Unit | undefined {
  const factor = SCALES.get(scale) ?? SCALES.get(scale.toLowerCase())
  const currency = currencyOf(name)
  return factor === undefined || currency === undefined ? undefined : { dimension: currency, factor }
}

export function isCurrency({ dimension }: Unit): boolean {
  return CURRENCIES.has(dimension)
}

function currencyOf(name: string): string | undefined {
  const symbol = SYMBOLS.get(name) ?? NAMED.get(name.toLowerCase())
  if (symbol !== undefined) return symbol
  const upper = name.toUpperCase()
  return upper.length === 3 && CURRENCIES.has(upper) && (name === upper || name === name.toLowerCase())
    ? upper
    : undefined
}
