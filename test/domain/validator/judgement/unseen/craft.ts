/** @module A fourth set: a film shoot, a translation, a chess tournament, a bakery, a data migration. */
import { casesOf, drop, type HandoffCase, push, reverse, set } from '../fresh/handoff-case.ts'

const film = {
  production: { title: 'Salt Road', unit: 'second', day: 14, of: 32 },
  call: { crew: '06:15', cast: '07:30', wrap: '18:45' },
  scenes: [
    { scene: '42A', pages: 2.125, int_ext: 'EXT', night: false },
    { scene: '43', pages: 0.875, int_ext: 'INT', night: true },
  ],
  minors: { on_set: 2, guardian: 'Lucía Prado', max_hours: 6 },
  stunts: { approved: true, coordinator: 'B. Achterberg' },
  insurance_value: 'GBP 1,250,000',
  camera: { body: 'Alexa 35', lens_mm: [32, 50, 75], fps: 24 },
  allergies: ['peanuts', 'latex'],
}

const translation = {
  job: { ref: 'TR-2026-1189', words: 18240, due: '2026-06-30T17:00:00+02:00' },
  languages: { source: 'fi-FI', target: ['de-CH', 'fr-CH'] },
  rates: { per_word: { amount: 0.21, currency: 'CHF' }, minimum: 'CHF 90' },
  glossary: { Vertrag: 'contrat', Frist: 'délai' },
  reviewer: { name: 'Élodie Wyss', certified: true },
  confidential: true,
  formats: ['docx', 'xliff'],
  requirements: ['no machine translation', 'two reviewers for the annex'],
}

const chess = {
  event: { name: 'Open Biel B', rounds: 9, time_control: '90+30' },
  standings: [
    { player: 'Anand Rao', fide: 5098412, points: 6.5, rank: 1 },
    { player: 'Sára Kiss', fide: 782114, points: 6, rank: 2 },
  ],
  pairings: [{ board: 1, white: 'Anand Rao', black: 'Sára Kiss', result: null }],
  tiebreaks: ['direct encounter', 'buchholz', 'wins'],
  arbiter: { name: 'P. Lindqvist', title: 'IA' },
  prizes: { first: 'EUR 3,000', second: 'EUR 1,800' },
  forfeits: [],
  round: 7,
}

const bakery = {
  batch: { no: 'B-0611', started: '2026-06-11T02:10:00+02:00', loaves: 480 },
  dough: { flour_kg: 220, water_l: 158.4, salt_kg: 4.4, hydration_pct: 72 },
  oven: { temp_c: 245, minutes: 42, steam: true },
  allergens: { gluten: true, sesame: false, nuts: 'may contain' },
  orders: [
    { customer: 'Café Linde', loaves: 60, by: '06:30' },
    { customer: 'Spital Nord', loaves: 140, by: '05:45' },
  ],
  recall: null,
  phase: 'proofing',
  temperature_log: [4.1, 4.3, 4.2],
}

const migration = {
  source: { host: 'pg-legacy-2', version: '12.18', rows: 48211907 },
  target: { host: 'pg-main', version: '16.3', tls: true },
  tables: [
    { name: 'invoices', rows: 1204551, checksum: '9f2c41aa' },
    { name: 'ledger_lines', rows: 9922110, checksum: '07bd55e1' },
  ],
  window: { from: '2026-05-09T22:00:00Z', minutes: 180 },
  rollback: { allowed: true, until: '2026-05-10T06:00:00Z' },
  downtime: '2 h',
  owners: { dba: 'mkeller', app: 'tandersen' },
  steps: ['freeze writes', 'dump', 'restore', 'verify', 'switch'],
}

export const CRAFT: readonly HandoffCase[] = [
  ...casesOf('film', film, [
    ['reject', 'time', 'the crew is called an hour later', set('/call/crew', '07:15')],
    ['reject', 'member', 'an allergy is left out', drop('/allergies/1')],
    ['reject', 'number', 'longer hours for children', set('/minors/max_hours', 8)],
    ['reject', 'money', 'another value', set('/insurance_value', 'GBP 1,520,000')],
    ['reject', 'currency', 'as many dollars', set('/insurance_value', 'USD 1,250,000')],
    ['reject', 'code', 'another scene', set('/scenes/0/scene', '42B')],
    ['accept', 'money', 'the value as an object', set('/insurance_value', { amount: 1250000, currency: 'GBP' })],
    ['accept', 'grows', 'another scene', push('/scenes', { scene: '44', pages: 1, int_ext: 'INT', night: false })],
    ['accept', 'reordered', 'allergies in another order', reverse('/allergies')],
    ['accept', 'enriched', 'the guardian has a number', set('/minors/phone', '+34 600 123 456')],
    ['accept', 'superseded', 'they wrap later, with a reason', set('/call/wrap', '19:30'), '/call/wrap'],
    ['accept', 'free', 'a memo', set('/memo', 'bring the second dolly')],
  ]),
  ...casesOf('translation', translation, [
    ['reject', 'locale', 'French of France', set('/languages/target/1', 'fr-FR')],
    ['reject', 'rate', 'another rate', set('/rates/per_word/amount', 0.12)],
    ['reject', 'negation', 'machine translation is fine', set('/requirements/0', 'machine translation')],
    ['reject', 'number in a sentence', 'one reviewer', set('/requirements/1', 'one reviewer for the annex')],
    ['reject', 'glossary', 'another word for it', set('/glossary/Frist', 'terme')],
    ['reject', 'boolean', 'not confidential', set('/confidential', false)],
    ['accept', 'grouping', 'words grouped', set('/job/words', "18'240")],
    ['accept', 'unicode', 'the name decomposed', set('/reviewer/name', 'E\u0301lodie Wyss')],
    ['accept', 'instant', 'due in UTC', set('/job/due', '2026-06-30T15:00:00Z')],
    ['accept', 'grows', 'another term', set('/glossary/Mangel', 'défaut')],
    ['accept', 'money', 'the minimum as an object', set('/rates/minimum', { amount: 90, currency: 'CHF' })],
    ['accept', 'grows', 'another requirement', push('/requirements', 'Swiss spelling')],
  ]),
  ...casesOf('chess', chess, [
    ['reject', 'points', 'half a point more', set('/standings/1/points', 6.5)],
    [
      'reject',
      'colours',
      'white plays black',
      set('/pairings/0', { board: 1, white: 'Sára Kiss', black: 'Anand Rao', result: null }),
    ],
    ['reject', 'order', 'another order of tie-breaks', reverse('/tiebreaks')],
    ['reject', 'id', 'another FIDE number', set('/standings/0/fide', 5098421)],
    ['reject', 'time control', 'a faster game', set('/event/time_control', '60+30')],
    ['reject', 'counter', 'an earlier round', set('/round', 6)],
    ['accept', 'filled', 'the game is played', set('/pairings/0/result', '1/2-1/2')],
    ['accept', 'filled', 'a forfeit', push('/forfeits', { round: 7, player: 'M. Toth' })],
    ['accept', 'counter', 'the next round', set('/round', 8)],
    [
      'accept',
      'grows',
      'another player',
      push('/standings', { player: 'L. Moreau', fide: 611920, points: 5.5, rank: 3 }),
    ],
    ['accept', 'money', 'the prize the other way round', set('/prizes/first', '3000 EUR')],
    ['accept', 'reordered', 'standings the other way round', reverse('/standings')],
  ]),
  ...casesOf('bakery', bakery, [
    ['reject', 'allergen', 'nuts are ruled out', set('/allergens/nuts', 'none')],
    ['reject', 'boolean', 'sesame is in it', set('/allergens/sesame', true)],
    ['reject', 'number', 'another temperature', set('/oven/temp_c', 225)],
    ['reject', 'sequence', 'a reading was changed', set('/temperature_log', [4.1, 5.3, 4.2])],
    ['reject', 'member', 'an order is forgotten', drop('/orders/1')],
    ['reject', 'digits', 'other loaves for the café', set('/orders/0/loaves', 16)],
    ['accept', 'grows', 'another reading', push('/temperature_log', 4.2)],
    ['accept', 'state', 'it is in the oven', set('/phase', 'baking')],
    [
      'accept',
      'unit',
      'the salt in grams',
      (context) => {
        context.dough.salt = '4400 g'
      },
    ],
    ['accept', 'grows', 'an order', push('/orders', { customer: 'Kiosk', loaves: 12, by: '06:00' })],
    ['accept', 'filled', 'nothing was recalled', set('/recall', false)],
    ['accept', 'instant', 'the start in UTC', set('/batch/started', '2026-06-11T00:10:00Z')],
  ]),
  ...casesOf('migration', migration, [
    ['reject', 'checksum', 'another checksum', set('/tables/0/checksum', '9f2c41ab')],
    [
      'reject',
      'order',
      'switched before it is verified',
      set('/steps', ['freeze writes', 'dump', 'restore', 'switch', 'verify']),
    ],
    ['reject', 'boolean', 'no way back', set('/rollback/allowed', false)],
    ['reject', 'version', 'another version', set('/source/version', '12.8')],
    ['reject', 'rows', 'rows are missing', set('/tables/1/rows', 9922101)],
    ['reject', 'swap', 'owners swapped', set('/owners', { dba: 'tandersen', app: 'mkeller' })],
    ['accept', 'unit', 'downtime in minutes', set('/downtime', '120 min')],
    ['accept', 'grouping', 'rows grouped', set('/source/rows', '48,211,907')],
    ['accept', 'grows', 'another table', push('/tables', { name: 'users', rows: 88120, checksum: 'aa01f0c2' })],
    ['accept', 'grows', 'a last step', push('/steps', 'announce')],
    ['accept', 'instant', 'until, with an offset', set('/rollback/until', '2026-05-10T08:00:00+02:00')],
    ['accept', 'case', 'a host in capitals', set('/target/host', 'PG-MAIN')],
  ]),
]
