/** @module Units by their conversions, as standards state them: what a thousand-fold or a foot is, said a second time, for the cases of `tables.ts`. */

/** By the unit to convert into: the factor, and the names of units that have it. */
export const CONVERSIONS: Readonly<Record<string, readonly (readonly [factor: number, names: string])[]>> = {
  g: [
    [1e-6, 'ug|µg|μg|mcg|microgram|micrograms'],
    [1e-3, 'mg|milligram|milligrams'],
    [1, 'gram|grams'],
    [1e3, 'kg|kilogram|kilograms|kilo|kilos'],
    [1e6, 't|tonne|tonnes'],
    [453.59237, 'lb|lbs|pound|pounds'],
    [28.349523125, 'oz|ounce|ounces'],
  ],
  kg: [[1e-3, 'g']],
  m: [
    [1e-3, 'mm|millimetre|millimetres|millimeter|millimeters'],
    [1e-2, 'cm|centimetre|centimetres|centimeter|centimeters'],
    [1, 'metre|metres|meter|meters'],
    [1e3, 'km|kilometre|kilometres|kilometer|kilometers'],
    [0.0254, 'in|inch|inches'],
    [0.3048, 'ft|foot|feet'],
    [0.9144, 'yd|yard|yards'],
    [1609.344, 'mi|mile|miles'],
  ],
  km: [[1e-3, 'm']],
  s: [
    [1e-3, 'ms|msec|millisecond|milliseconds'],
    [1, 'sec|secs|second|seconds'],
    [60, 'min|mins|minute|minutes'],
    [3600, 'h|hr|hrs|hour|hours'],
    [86_400, 'd|day|days'],
    [604_800, 'wk|week|weeks'],
  ],
  min: [[1 / 60, 's']],
  month: [
    [1, 'mo|months'],
    [3, 'quarter|quarters'],
    [12, 'yr|yrs|year|years'],
  ],
  year: [[1 / 12, 'month']],
  B: [
    [1, 'byte|bytes'],
    [1e3, 'kB|KB|kilobyte|kilobytes'],
    [1e6, 'MB|megabyte|megabytes'],
    [1e9, 'GB|gigabyte|gigabytes'],
    [1e12, 'TB|terabyte|terabytes'],
    [2 ** 10, 'KiB|kibibyte|kibibytes'],
    [2 ** 20, 'MiB|mebibyte|mebibytes'],
    [2 ** 30, 'GiB|gibibyte|gibibytes'],
    [2 ** 40, 'TiB|tebibyte|tebibytes'],
  ],
  kB: [[1e-3, 'B']],
  l: [
    [1e-6, 'ul|uL|µl|µL|μl|μL|microlitre|microlitres|microliter|microliters'],
    [1e-3, 'cm3|cm³|ml|mL|millilitre|millilitres|milliliter|milliliters'],
    [1e3, 'm3|m³|cubic metre|cubic metres|cubic meter|cubic meters'],
    [1e-2, 'cl|cL'],
    [0.1, 'dl|dL'],
    [1, 'L|litre|litres|liter|liters'],
    [100, 'hl|hL|hectolitre|hectolitres|hectoliter|hectoliters'],
  ],
  ml: [[1e3, 'l']],
  '%': [
    [1, 'percent|pct|per cent'],
    [0.1, '‰'],
    [1e-2, 'bp|bps|basis points'],
    [1e-4, 'ppm'],
    [1e-7, 'ppb'],
  ],
  bp: [[100, '%']],
  V: [
    [1e-3, 'mV'],
    [1, 'volt|volts'],
    [1e3, 'kV'],
  ],
  kV: [[1e-3, 'V']],
  W: [
    [1, 'watt|watts'],
    [1e3, 'kW|kilowatt|kilowatts'],
    [1e6, 'MW|megawatt|megawatts'],
    [1e9, 'GW|gigawatt|gigawatts'],
  ],
  kW: [[1e-3, 'W']],
  J: [
    [3600, 'Wh'],
    [3.6e6, 'kWh'],
    [3.6e9, 'MWh'],
    [3.6e12, 'GWh'],
    [1, 'joule|joules'],
    [1e3, 'kJ|kilojoule|kilojoules'],
    [1e6, 'MJ|megajoule|megajoules'],
  ],
  kJ: [[1e-3, 'J']],
  A: [
    [1e-3, 'mA'],
    [1, 'amp|amps|ampere|amperes'],
  ],
  mA: [[1e3, 'A']],
  Pa: [
    [100, 'hPa|mbar|millibar'],
    [1e3, 'kPa'],
    [1e5, 'bar'],
    [6894.757293168, 'psi'],
    [1e6, 'MPa'],
  ],
  kPa: [[1e-3, 'Pa']],
  m2: [
    [1e-4, 'cm2|cm²'],
    [1, 'm²|sqm|square metre|square metres|square meter|square meters'],
    [1e4, 'ha|hectare|hectares'],
    [0.09290304, 'sqft|ft2|ft²|square foot|square feet'],
    [4046.8564224, 'acre|acres'],
    [1e6, 'km2|km²'],
  ],
  ha: [[1e-4, 'm2']],
  'm/s': [
    [1 / 3.6, 'km/h|kph|kmh'],
    [0.44704, 'mph'],
  ],
  'km/h': [[3.6, 'm/s']],
  'g/L': [
    [1e-6, 'ug/L|ug/l|µg/L|µg/l|μg/L|μg/l'],
    [1e-3, 'mg/L|mg/l'],
    [1e-2, 'mg/dL|mg/dl'],
    [1, 'g/l'],
    [10, 'g/dL|g/dl'],
  ],
  'mg/L': [[1e3, 'g/L']],
  'mmol/L': [
    [1e-3, 'umol/L|umol/l|µmol/L|µmol/l|μmol/L|μmol/l'],
    [1, 'mmol/l'],
  ],
  'umol/L': [[1e3, 'mmol/L']],
  kbps: [
    [1, 'kbit/s'],
    [1e3, 'Mbps|Mbit/s'],
    [1e6, 'Gbps|Gbit/s'],
  ],
  Mbps: [[1e-3, 'kbps']],
  Hz: [
    [1, 'hertz'],
    [1e3, 'kHz'],
    [1e6, 'MHz'],
    [1e9, 'GHz'],
  ],
  kHz: [[1e-3, 'Hz']],
}

/** 20 °C on each scale. */
export const ROOM_TEMPERATURE: readonly (readonly [value: number, names: string])[] = [
  [20, 'C|°C|celsius'],
  [68, 'F|°F|fahrenheit'],
  [293.15, 'K|kelvin'],
]

export const CURRENCY_CODES =
  'AED ARS AUD BGN BRL CAD CHF CLP CNY COP CZK DKK EGP EUR GBP HKD HUF IDR ILS INR ISK JPY KES KRW MAD MXN MYR NGN NOK NZD PEN PHP PKR PLN RON RSD RUB SAR SEK SGD THB TRY TWD UAH USD VND ZAR'

/** Signs and names of currencies, and what is said of how many. */
export const CURRENCY_SIGNS: readonly (readonly [code: string, signs: string])[] = [
  ['USD', '$|US$'],
  ['EUR', '€'],
  ['GBP', '£'],
  ['INR', '₹'],
  ['KRW', '₩'],
  ['ILS', '₪'],
  ['TRY', '₺'],
  ['UAH', '₴'],
]
export const CURRENCY_NAMES: readonly (readonly [code: string, names: string])[] = [
  ['EUR', 'euro|euros'],
  ['USD', 'us dollar|us dollars'],
]
export const CURRENCY_SCALES: readonly (readonly [factor: number, scales: string])[] = [
  [1e3, 'k|K|thousand'],
  [1e6, 'm|M|mn|million'],
  [1e9, 'bn|billion'],
  [1e-2, 'cent|cents'],
]
