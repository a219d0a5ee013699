/** @module A second held set: an incident, a contract, a clinical sample, a grid, a lease. */
import { casesOf, type HandoffCase } from '../fresh/handoff-case.ts'

const incident = {
  incident: { key: 'OPS-2231', severity: 'SEV2', detected_at: '2026-04-02T21:14:09Z', commander: 'Yara' },
  impact: { users: 18400, regions: ['eu-west-1', 'us-east-1'], error_rate_pct: 7.2 },
  deploy: { commit: '9f31c2a', version: '4.10', rolled_back: false },
  hypotheses: [{ id: 'H1', claim: 'connection pool exhausted', status: 'open' }],
  limits: { max_retries: 3, timeout_ms: 1500 },
  followups: [{ key: 'OPS-2240', owner: 'Ben', due: '2026-04-20' }],
  phase: 'investigating',
  timeline_notes: 'pager at 21:14',
  summary: 'Checkout fails for some.',
}

const contract = {
  parties: [
    { role: 'licensor', name: 'Nordwind GmbH', seat: 'Kiel' },
    { role: 'licensee', name: 'Okavango Ltd', seat: 'Maun' },
  ],
  term: { value: 24, unit: 'months', renews: 'yearly' },
  governing_law: 'Germany',
  liability_cap: { amount: 1.5, currency: 'million EUR' },
  clauses: { '7.2': 'exclusive', '11.1': 'no assignment without consent' },
  notice: '3 months',
  signatures: [{ by: 'A. Petersen', on: '2026-01-12' }],
  redlines: 4,
  draft: 'v7',
}

const sample = {
  sample: { barcode: 'LB-00932', volume: '4.5 ml', tube: 'EDTA', drawn: '2026-02-03T07:45:00+01:00' },
  results: [
    { analyte: 'sodium', value: 139, unit: 'mmol/l', flag: 'normal' },
    { analyte: 'potassium', value: 5.9, unit: 'mmol/l', flag: 'high' },
  ],
  storage: { temp_min_c: -80, temp_max_c: -60 },
  hemolysed: true,
  chain: ['nurse', 'courier', 'lab'],
  verified: { status: 'pending', by: null },
  interpretation: null,
}

const grid = {
  substation: { id: 'SS-12', voltage: '110 kV', transformers: 3 },
  switching: { sequence: ['open CB-4', 'earth L2', 'close CB-7'], authorised_by: 'P. Osei' },
  outage: { from: '2026-06-01 06:00', to: '2026-06-01 14:00', customers: 2150 },
  load: { peak: '12.4 MW', forecast: '13.1 MW' },
  interlocks: { CB4: 'locked', CB7: 'free' },
  constraints: ['Never close CB-7 while L2 is earthed on both ends.'],
  progress: '2 of 3',
}

const lease = {
  unit: { address: '14 Quay Street', area: '86.5 m2', floor: 3 },
  rent: { value: 1890, currency: 'CAD', due_day: 1 },
  tenants: [
    { first_name: 'Noor', last_name: 'Haddad', guarantor: true },
    { first_name: 'Luc', last_name: 'Roy', guarantor: false },
  ],
  deposit_returned: false,
  pets: { allowed: false, exceptions: ['fish'] },
  start: '2026-09-01',
  meter: { no: 'E-55190', reading: 40213, last_read_at: '2026-08-30' },
  keys: 2,
  memo: 'painter comes Friday',
}

export const INDUSTRY: readonly HandoffCase[] = [
  ...casesOf('incident', incident, [
    [
      'accept',
      'state',
      'resolved',
      (c) => {
        c.phase = 'resolved'
      },
    ],
    [
      'accept',
      'unit',
      'the time-out in seconds',
      (c) => {
        delete c.limits.timeout_ms
        c.limits = { max_retries: 3, timeout_ms: 1500 }
      },
    ],
    [
      'accept',
      'more',
      'one more region',
      (c) => {
        c.impact.regions.push('ap-south-1')
      },
    ],
    [
      'accept',
      'ratio',
      'the rate with its sign',
      (c) => {
        c.impact.error_rate_pct = '7.2 %'
      },
    ],
    [
      'accept',
      'state',
      'the hypothesis is confirmed',
      (c) => {
        c.hypotheses[0].status = 'confirmed'
      },
    ],
    [
      'accept',
      'free',
      'a new summary',
      (c) => {
        c.summary = 'Fixed.'
      },
    ],
    [
      'reject',
      'word',
      'a lower severity',
      (c) => {
        c.incident.severity = 'SEV3'
      },
    ],
    [
      'reject',
      'version',
      '4.1 for 4.10',
      (c) => {
        c.deploy.version = '4.1'
      },
    ],
    [
      'reject',
      'code',
      'another commit',
      (c) => {
        c.deploy.commit = '9f31c2b'
      },
    ],
    [
      'reject',
      'amount',
      'more retries than the limit',
      (c) => {
        c.limits.max_retries = 5
      },
    ],
    [
      'reject',
      'member',
      'the owner of a follow-up',
      (c) => {
        c.followups[0].owner = 'Ana'
      },
    ],
    [
      'reject',
      'instant',
      'detected an hour later',
      (c) => {
        c.incident.detected_at = '2026-04-02T22:14:09Z'
      },
    ],
  ]),
  ...casesOf('contract', contract, [
    [
      'accept',
      'unit',
      'two years',
      (c) => {
        c.term = { value: 2, unit: 'years', renews: 'yearly' }
      },
    ],
    [
      'accept',
      'money',
      'the cap in full',
      (c) => {
        c.liability_cap = { amount: 1500000, currency: 'EUR' }
      },
    ],
    [
      'accept',
      'case',
      'the law in capitals',
      (c) => {
        c.governing_law = 'GERMANY'
      },
    ],
    [
      'accept',
      'order',
      'parties turned round',
      (c) => {
        c.parties.reverse()
      },
    ],
    [
      'accept',
      'more',
      'the second signature',
      (c) => {
        c.signatures.push({ by: 'T. Moyo', on: '2026-01-15' })
      },
    ],
    [
      'accept',
      'quotes',
      'a clause in other white space',
      (c) => {
        c.clauses['11.1'] = 'no assignment  without consent'
      },
    ],
    [
      'reject',
      'amount',
      'ten times the cap',
      (c) => {
        c.liability_cap.amount = 15
      },
    ],
    [
      'reject',
      'clause',
      'not exclusive',
      (c) => {
        c.clauses['7.2'] = 'non-exclusive'
      },
    ],
    [
      'reject',
      'swap',
      'the roles exchanged',
      (c) => {
        ;[c.parties[0].role, c.parties[1].role] = ['licensee', 'licensor']
      },
    ],
    [
      'reject',
      'lost',
      'no notice any more',
      (c) => {
        delete c.notice
      },
    ],
    [
      'reject',
      'date',
      'signed in December, as the other way to read it',
      (c) => {
        c.signatures[0].on = '2026-12-01'
      },
    ],
    [
      'reject',
      'place',
      'another law',
      (c) => {
        c.governing_law = 'Germany and Botswana'
      },
    ],
  ]),
  ...casesOf('sample', sample, [
    [
      'accept',
      'unit',
      'millilitres as litres',
      (c) => {
        c.sample.volume = '0.0045 l'
      },
    ],
    [
      'accept',
      'zone',
      'drawn, in UTC',
      (c) => {
        c.sample.drawn = '2026-02-03T06:45:00Z'
      },
    ],
    [
      'accept',
      'null',
      'interpreted',
      (c) => {
        c.interpretation = 'repeat potassium'
      },
    ],
    [
      'accept',
      'state',
      'verified',
      (c) => {
        c.verified = { status: 'verified', by: 'Dr. Imai' }
      },
    ],
    [
      'accept',
      'more',
      'one more analyte',
      (c) => {
        c.results.push({ analyte: 'chloride', value: 101, unit: 'mmol/l', flag: 'normal' })
      },
    ],
    [
      'accept',
      'number',
      'a value with a zero behind',
      (c) => {
        c.results[1].value = '5.90'
      },
    ],
    [
      'reject',
      'amount',
      'the potassium is fine',
      (c) => {
        c.results[1].value = 4.9
      },
    ],
    [
      'reject',
      'flag',
      'normal',
      (c) => {
        c.results[1].flag = 'normal'
      },
    ],
    [
      'reject',
      'bool',
      'not hemolysed',
      (c) => {
        c.hemolysed = false
      },
    ],
    [
      'reject',
      'order',
      'the courier after the lab',
      (c) => {
        c.chain = ['nurse', 'lab', 'courier']
      },
    ],
    [
      'reject',
      'code',
      'another barcode',
      (c) => {
        c.sample.barcode = 'LB-0932'
      },
    ],
    [
      'reject',
      'sign',
      'warm storage',
      (c) => {
        c.storage.temp_max_c = 60
      },
    ],
  ]),
  ...casesOf('grid', grid, [
    [
      'accept',
      'unit',
      'volts',
      (c) => {
        c.substation.voltage = '110000 V'
      },
    ],
    [
      'accept',
      'unit',
      'kilowatts',
      (c) => {
        c.load.peak = '12,400 kW'
      },
    ],
    [
      'accept',
      'free',
      'done',
      (c) => {
        c.progress = '3 of 3'
      },
    ],
    [
      'accept',
      'more',
      'one more interlock',
      (c) => {
        c.interlocks.CB9 = 'locked'
      },
    ],
    [
      'accept',
      'number',
      'customers in groups',
      (c) => {
        c.outage.customers = '2,150'
      },
    ],
    [
      'accept',
      'more',
      'one more constraint',
      (c) => {
        c.constraints.push('Radio check every hour.')
      },
    ],
    [
      'reject',
      'order',
      'closed before it is earthed',
      (c) => {
        c.switching.sequence = ['open CB-4', 'close CB-7', 'earth L2']
      },
    ],
    [
      'reject',
      'word',
      'unlocked',
      (c) => {
        c.interlocks.CB4 = 'free'
      },
    ],
    [
      'reject',
      'rule',
      'the rule without its never',
      (c) => {
        c.constraints = ['Close CB-7 while L2 is earthed on both ends.']
      },
    ],
    [
      'reject',
      'time',
      'the outage ends later',
      (c) => {
        c.outage.to = '2026-06-01 16:00'
      },
    ],
    [
      'reject',
      'person',
      'authorised by somebody else',
      (c) => {
        c.switching.authorised_by = 'P. Osai'
      },
    ],
    [
      'reject',
      'amount',
      'two transformers',
      (c) => {
        c.substation.transformers = 2
      },
    ],
  ]),
  ...casesOf('lease', lease, [
    [
      'accept',
      'date',
      'the first of September in words',
      (c) => {
        c.start = '1 September 2026'
      },
    ],
    [
      'accept',
      'money',
      'the rent in one text',
      (c) => {
        c.rent.value = '1,890'
      },
    ],
    [
      'accept',
      'order',
      'tenants turned round',
      (c) => {
        c.tenants.reverse()
      },
    ],
    [
      'accept',
      'clock',
      'the meter read again',
      (c) => {
        c.meter.last_read_at = '2026-09-30'
      },
    ],
    [
      'accept',
      'free',
      'another memo',
      (c) => {
        c.memo = 'painter came'
      },
    ],
    [
      'accept',
      'more',
      'a phone of a tenant',
      (c) => {
        c.tenants[0].phone = '+1 514 555 0100'
      },
    ],
    [
      'reject',
      'flag',
      'the other one guarantees',
      (c) => {
        c.tenants[0].guarantor = false
        c.tenants[1].guarantor = true
      },
    ],
    [
      'reject',
      'person',
      'a tenant renamed',
      (c) => {
        c.tenants[1].first_name = 'Luke'
      },
    ],
    [
      'reject',
      'member',
      'cats, too, in the place of fish',
      (c) => {
        c.pets.exceptions = ['cats']
      },
    ],
    [
      'reject',
      'amount',
      'the rent is lower',
      (c) => {
        c.rent.value = 1690
      },
    ],
    [
      'reject',
      'currency',
      'another dollar',
      (c) => {
        c.rent.currency = 'USD'
      },
    ],
    [
      'reject',
      'lost',
      'the keys are gone',
      (c) => {
        delete c.keys
      },
    ],
  ]),
]
