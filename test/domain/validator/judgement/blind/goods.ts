/** @module Fifty handoffs written from docs/judgement.md alone: a dental laboratory, a wind farm, a customs broker, a wine auction, a tram depot. */
import { casesOf, drop, type HandoffCase, push, reverse, set, turned } from '../fresh/handoff-case.ts'

const crown = {
  job: { no: 'DL-20418', ordered: '2026-02-03', practice: 'Zahnarzt Huber' },
  patient: { initials: 'R. K.', tooth: 36, allergies: ['nickel'] },
  work: { kind: 'crown', material: 'zirconia', shade: 'A3', price: { amount: 410, currency: 'EUR' } },
  scans: [
    { id: 'SC-1', jaw: 'lower', microns: 18 },
    { id: 'SC-2', jaw: 'upper', microns: 22 },
  ],
  due: '2026-02-17',
  status: 'designing',
  constraints: ['no nickel in any alloy'],
  notes: 'The margin is hard to see on the mesial side.',
  technician: 'Ivo',
  retries: 0,
}

const windFarm = {
  site: { name: 'Nordhang', turbines: 12, hub_height_m: 119, owner: 'Windkraft Nord eG' },
  limits: { noise_db: 45, max_wind_mps: 25, bat_curtailment: true },
  readings: [
    { turbine: 'T03', power_kw: 1840, bearing_c: 61.5 },
    { turbine: 'T07', power_kw: 0, bearing_c: 88.2 },
  ],
  fault: { turbine: 'T07', code: 'GB-114', since: '2026-01-19T04:40:00Z' },
  crew: { lead: 'Sanna Holm', size: 3 },
  route: ['gate', 'T07', 'T03'],
  spare_parts: [{ sku: 'BRG-6330', qty: 2 }],
  work_state: 'planned',
  updated_at: '2026-01-19T06:00:00Z',
  plan: 'Look at the gearbox first.',
}

const customs = {
  declaration: { mrn: '26DE7350A1B2C3D4E5', office: 'DE007350', regime: '4000' },
  consignee: { name: 'Feld Optik GmbH', eori: 'DE8812340' },
  goods: [
    { line: 1, hs_code: '90015041', origin: 'JP', net_kg: 120.5, value: { amount: 18400, currency: 'USD' } },
    { line: 2, hs_code: '90031900', origin: 'CN', net_kg: 64, value: { amount: 7600, currency: 'USD' } },
  ],
  total_value: { amount: 26000, currency: 'USD' },
  incoterm: 'FOB Yokohama',
  duty_pct: 2.9,
  vat_pct: 19,
  documents: ['invoice', 'packing list'],
  phase: 'submitted',
  licence_required: false,
  seal_no: 'CH-0044817',
}

const auction = {
  sale: { id: 'BX-77', house: 'Delacour', date: '2026-10-09', premium_pct: 22.5 },
  lots: [
    { lot: 101, wine: 'Barolo 2010', bottles: 6, low: 480, high: 620, reserve: 450 },
    { lot: 102, wine: 'Tokaji 1999', bottles: 3, low: 300, high: 380, reserve: null },
  ],
  bottles_total: 9,
  storage: { temp_c: 13, humidity_pct: 70, cellar: 'B2' },
  seller: { name: 'Estate of M. Roux', paid: false },
  provenance: 'one owner since release',
  bidders_registered: 41,
  viewing: { from: '10:00', to: '17:30' },
  catalogue_status: 'draft',
  facts: { corked: 0, recorked: 2 },
}

const depot = {
  depot: { code: 'GRA', tracks: 18, foreman: 'P. Ostrowski' },
  trams: [
    { number: '2041', type: 'Flexity', km: 412006, track: 4 },
    { number: '2044', type: 'Flexity', km: 398771, track: 7 },
  ],
  shift: { driver: 'Anke Lind', starts: '04:35', ends: '12:50', line: 6 },
  inspection: { tram: '2041', brakes: 'passed', doors: 'failed', wheel_mm: 28.4 },
  interval_km: 60000,
  sand_full: true,
  headways_min: [6, 7.5, 10],
  requirements: ['No tram leaves with a failed door.'],
  wash: { done: false, lane: 2 },
  current_tram: '2041',
}

export const GOODS: readonly HandoffCase[] = [
  ...casesOf('dental laboratory', crown, [
    ['accept', 'date', 'the due day in words', set('/due', '17 February 2026')],
    ['accept', 'state', 'designed, now milling', set('/status', 'in progress')],
    ['accept', 'free', 'other notes', set('/notes', 'Margin redrawn. The rest is plain.')],
    [
      'accept',
      'list',
      'scans the other way round, and one more',
      (c) => {
        c.scans = [c.scans[1], c.scans[0], { id: 'SC-3', jaw: 'bite', microns: 25 }]
      },
    ],
    ['accept', 'counter', 'one more try', set('/retries', 1)],
    ['reject', 'number', 'another tooth', set('/patient/tooth', 46)],
    ['reject', 'text', 'another shade', set('/work/shade', 'B2')],
    ['reject', 'loss', 'the allergy is gone', set('/patient/allergies', [])],
    ['reject', 'negation', 'the constraint is turned round', set('/constraints/0', 'nickel in any alloy')],
    ['reject', 'money', 'ten times the price', set('/work/price/amount', 4100)],
  ]),
  ...casesOf('wind farm', windFarm, [
    [
      'accept',
      'unit',
      'the hub height in kilometres',
      (c) => {
        c.site.hub_height_km = 0.119
        delete c.site.hub_height_m
      },
    ],
    ['accept', 'zone', 'the same instant elsewhere', set('/fault/since', '2026-01-19T05:40:00+01:00')],
    [
      'accept',
      'clock',
      'a later time of the record, and a new reading',
      (c) => {
        c.updated_at = '2026-01-19T07:00:00Z'
        c.readings.push({ turbine: 'T09', power_kw: 1712, bearing_c: 60.1 })
      },
    ],
    ['accept', 'added', 'what the crew found', set('/finding', { part: 'gearbox', metal_in_oil: true })],
    ['accept', 'free', 'another plan', set('/plan', 'Drain the oil, then look at the bearing.')],
    ['reject', 'identity', 'the fault is said of another turbine', set('/fault/turbine', 'T01')],
    ['reject', 'limit', 'a louder limit', set('/limits/noise_db', 55)],
    ['reject', 'boolean', 'curtailment for bats is off', set('/limits/bat_curtailment', false)],
    ['reject', 'order', 'another way through the site', reverse('/route')],
    ['reject', 'time', 'an earlier time of the record', set('/updated_at', '2026-01-18T06:00:00Z')],
  ]),
  ...casesOf('customs broker', customs, [
    ['accept', 'state', 'released', set('/phase', 'completed')],
    [
      'accept',
      'number',
      'the weight with its unit',
      (c) => {
        c.goods[0].net_kg = '120.5 kg'
      },
    ],
    ['accept', 'list', 'one more document', push('/documents', 'certificate of origin')],
    [
      'accept',
      'total',
      'a third line, and the sum of all',
      (c) => {
        c.goods.push({
          line: 3,
          hs_code: '90049090',
          origin: 'JP',
          net_kg: 8,
          value: { amount: 1000, currency: 'USD' },
        })
        c.total_value = { amount: 27000, currency: 'USD' }
      },
    ],
    [
      'accept',
      'keys',
      'all keys the other way round',
      (c) => {
        const other = turned(c) as object
        for (const key of Object.keys(c)) delete c[key]
        Object.assign(c, other)
      },
    ],
    ['reject', 'code', 'one digit of a commodity code', set('/goods/0/hs_code', '90015049')],
    ['reject', 'origin', 'another origin', set('/goods/1/origin', 'VN')],
    ['reject', 'currency', 'another currency', set('/total_value/currency', 'EUR')],
    ['reject', 'zero', 'a code without its zeros', set('/seal_no', 'CH-44817')],
    ['reject', 'loss', 'a line is gone', drop('/goods/1')],
  ]),
  ...casesOf('wine auction', auction, [
    ['accept', 'open', 'a reserve where there was none', set('/lots/1/reserve', 280)],
    [
      'accept',
      'form',
      'lots by their number',
      (c) => {
        const [first, second] = c.lots
        c.lots = { '101': { ...first, lot: undefined }, '102': { ...second, lot: undefined } }
        delete c.lots['101'].lot
        delete c.lots['102'].lot
      },
    ],
    ['accept', 'state', 'the catalogue is published', set('/catalogue_status', 'published')],
    [
      'accept',
      'rename',
      'the seller under another key',
      (c) => {
        c.consignor = c.seller
        delete c.seller
      },
    ],
    ['accept', 'case', 'the cellar in small letters', set('/storage/cellar', 'b2')],
    ['reject', 'number', 'fewer bottles in a lot', set('/lots/0/bottles', 5)],
    ['reject', 'year', 'another year', set('/lots/1/wine', 'Tokaji 1993')],
    [
      'reject',
      'swap',
      'low and high changed places',
      (c) => {
        c.lots[0].low = 620
        c.lots[0].high = 480
      },
    ],
    ['reject', 'percent', 'a premium by a tenth', set('/sale/premium_pct', 2.25)],
    ['reject', 'fact', 'fewer are recorked', set('/facts/recorked', 1)],
  ]),
  ...casesOf('tram depot', depot, [
    [
      'accept',
      'cursor',
      'the other tram is at hand',
      (c) => {
        c.current_tram = '2044'
      },
    ],
    ['accept', 'done', 'it is washed', set('/wash/done', true)],
    ['accept', 'time', 'seconds in a time of day', set('/shift/starts', '04:35:00')],
    ['accept', 'number', 'a grouped number', set('/interval_km', '60,000')],
    ['accept', 'added', 'who cleans', set('/wash/by', 'R. Stein')],
    ['reject', 'verdict', 'the doors have passed', set('/inspection/doors', 'passed')],
    [
      'reject',
      'cross',
      'tracks changed places',
      (c) => {
        c.trams[0].track = 7
        c.trams[1].track = 4
      },
    ],
    ['reject', 'order', 'headways in another order', reverse('/headways_min')],
    ['reject', 'name', 'another driver', set('/shift/driver', 'Anke Linde')],
    ['reject', 'loss', 'the requirement is gone', drop('/requirements/0')],
  ]),
]
