/** @module A second held set: patient intake, freight, payroll, retail returns, a wedding venue. */
import { casesOf, type HandoffCase } from '../fresh/handoff-case.ts'

const intake = {
  patient: {
    mrn: 'MRN-44120',
    born: '1961-03-09',
    weight: { value: 81.4, unit: 'kg' },
    pregnant: false,
    language: 'Finnish',
  },
  medication: [
    { drug: 'metoprolol', dose: '50 mg', times_a_day: 2 },
    { drug: 'apixaban', dose: '5 mg', times_a_day: 2 },
  ],
  vitals: { systolic: 148, diastolic: 92, temperature_c: 37.9, taken_at: '2026-02-11T08:10:00+02:00' },
  isolation: { required: true, reason: 'MRSA carrier' },
  consent: { surgery: 'given', signed_by: 'patient' },
  triage: { stage: 'waiting', priority: 2 },
  notes: 'Short of breath since Monday.',
}

const freight = {
  consignment: {
    awb: '057-44120093',
    pieces: 14,
    gross_weight: '2,310 kg',
    incoterm: 'DAP',
    declared_value: { amount: 48200, currency: 'EUR' },
  },
  legs: [
    { flight_number: 'AF6731', date: '2026-05-02', origin: 'CDG', destination: 'ORD' },
    { flight_number: 'AA1180', date: '2026-05-03', origin: 'ORD', destination: 'DFW' },
  ],
  dangerous_goods: { un: 'UN3480', packing_group: 'II', lithium: true },
  temperature_range: [2, 8],
  consignee: { name: 'Lone Star Cold Chain', eori: 'FR40300200100026' },
  customs: { status: 'submitted', broker: null },
  seals: ['SL-9921', 'SL-9922'],
  checklist: ['weigh', 'label'],
}

const payroll = {
  employee: { no: '00417', name: 'Ines Ferreira', hired: '2019-09-01', grade: 'L4', part_time: 0.8 },
  period: { start: '2026-01-01', end: '2026-01-31' },
  gross: { amount: 4120.5, currency: 'EUR' },
  deductions: [
    { code: 'TAX', amount: 803.1 },
    { code: 'SOC', amount: 453.26 },
  ],
  net: 2864.14,
  bank: { iban: 'PT50000201231234567890154' },
  leave_days_left: 17.5,
  approvals: [{ by: 'M. Lopes', at: '2026-01-29T10:00:00Z' }],
  run_status: 'draft',
}

const returns = {
  rma: 'R-70113',
  order: { id: 'SO-5518', placed: '2026-03-30', channel: 'web' },
  items: [
    { sku: 'TS-101-M', qty: 2, condition: 'unopened', price: '29.90' },
    { sku: 'JK-300-L', qty: 1, condition: 'worn', price: '149.00' },
  ],
  refund: { method: 'card', to: '**** 4411', eligible: true, restocking_fee_pct: 15 },
  window: { days: 30 },
  customer: { email: 'tom@example.org', vip: false },
  requirements: ['Inspect the jacket before any refund.'],
  state: 'opened',
  attempts: 1,
}

const venue = {
  event: { couple: 'Sara & Milan', date: '2026-08-22', guests: 140, hall: 'Orangery', doors: '15:30' },
  menu: { vegetarian: 22, vegan: 9, nut_free: true },
  vendors: { florist: 'Blum & Co', band: 'The Lates' },
  deposit: { amount: 3500, currency: 'CHF', paid: true },
  curfew: '00:30',
  timeline: ['ceremony', 'drinks', 'dinner', 'speeches', 'dancing'],
  insurance: { policy_no: 'HX-20-118-7', covers_rain: false },
  open_questions: ['colour of the napkins'],
}

export const SERVICE: readonly HandoffCase[] = [
  ...casesOf('intake', intake, [
    [
      'accept',
      'unit',
      'kilograms in grams',
      (c) => {
        c.patient.weight = { value: 81400, unit: 'g' }
      },
    ],
    [
      'accept',
      'date',
      'the day of birth in words',
      (c) => {
        c.patient.born = '9 March 1961'
      },
    ],
    [
      'accept',
      'zone',
      'the same instant in UTC',
      (c) => {
        c.vitals.taken_at = '2026-02-11T06:10:00Z'
      },
    ],
    [
      'accept',
      'order',
      'drugs in another order, one with a route',
      (c) => {
        c.medication = [{ ...c.medication[1], route: 'oral' }, c.medication[0]]
      },
    ],
    [
      'accept',
      'state',
      'triage goes on',
      (c) => {
        c.triage.stage = 'in progress'
      },
    ],
    [
      'accept',
      'free',
      'other notes',
      (c) => {
        c.notes = 'Better after oxygen.'
      },
    ],
    [
      'reject',
      'amount',
      'half the dose',
      (c) => {
        c.medication[1].dose = '2.5 mg'
      },
    ],
    [
      'reject',
      'unit',
      'grams for milligrams',
      (c) => {
        c.medication[0].dose = '50 g'
      },
    ],
    [
      'reject',
      'flag',
      'isolation is not needed any more',
      (c) => {
        c.isolation.required = false
      },
    ],
    [
      'reject',
      'member',
      'a drug is another one',
      (c) => {
        c.medication[0].drug = 'metformin'
      },
    ],
    [
      'reject',
      'lost',
      'the reason of isolation is gone',
      (c) => {
        delete c.isolation.reason
      },
    ],
    [
      'reject',
      'word',
      'consent withdrawn without a word',
      (c) => {
        c.consent.surgery = 'refused'
      },
    ],
  ]),
  ...casesOf('freight', freight, [
    [
      'accept',
      'number',
      'the weight without its comma',
      (c) => {
        c.consignment.gross_weight = '2310 kg'
      },
    ],
    [
      'accept',
      'unit',
      'the weight in tonnes',
      (c) => {
        c.consignment.gross_weight = '2.31 t'
      },
    ],
    [
      'accept',
      'null',
      'the broker is known now',
      (c) => {
        c.customs.broker = 'Delta Brokers'
      },
    ],
    [
      'accept',
      'state',
      'customs cleared',
      (c) => {
        c.customs.status = 'cleared'
      },
    ],
    [
      'accept',
      'more',
      'one more leg',
      (c) => {
        c.legs.push({ flight_number: 'AA77', date: '2026-05-04', origin: 'DFW', destination: 'AUS' })
      },
    ],
    [
      'accept',
      'free',
      'the checklist moves on',
      (c) => {
        c.checklist = ['load']
      },
    ],
    [
      'reject',
      'date',
      'the first leg a day later',
      (c) => {
        c.legs[0].date = '2026-05-03'
      },
    ],
    [
      'reject',
      'code',
      'two digits of the waybill changed places',
      (c) => {
        c.consignment.awb = '057-44120039'
      },
    ],
    [
      'reject',
      'order',
      'the range turned round',
      (c) => {
        c.temperature_range = [8, 2]
      },
    ],
    [
      'reject',
      'lost',
      'a seal is gone',
      (c) => {
        c.seals = ['SL-9921']
      },
    ],
    [
      'reject',
      'currency',
      'dollars for euros',
      (c) => {
        c.consignment.declared_value.currency = 'USD'
      },
    ],
    [
      'reject',
      'shadow',
      'a second count of pieces under a key that reads the same',
      (c) => {
        c.consignment.Pieces = 41
      },
    ],
  ]),
  ...casesOf('payroll', payroll, [
    [
      'accept',
      'number',
      'the net as text',
      (c) => {
        c.net = '2,864.14'
      },
    ],
    [
      'accept',
      'quantity',
      'the gross as text',
      (c) => {
        c.gross = '4,120.50 EUR'
      },
    ],
    [
      'accept',
      'more',
      'a second approval',
      (c) => {
        c.approvals.push({ by: 'H. Silva', at: '2026-01-30T09:00:00Z' })
      },
    ],
    [
      'accept',
      'state',
      'the run is approved',
      (c) => {
        c.run_status = 'approved'
      },
    ],
    [
      'accept',
      'date',
      'the period with dots',
      (c) => {
        c.period = { start: '01.01.2026', end: '31.01.2026' }
      },
    ],
    [
      'accept',
      'grouped',
      'the IBAN in groups',
      (c) => {
        c.bank.iban = 'PT50 0002 0123 1234 5678 9015 4'
      },
    ],
    [
      'reject',
      'amount',
      'a cent less',
      (c) => {
        c.net = 2864.13
      },
    ],
    [
      'reject',
      'code',
      'the number without its zeros',
      (c) => {
        c.employee.no = '417'
      },
    ],
    [
      'reject',
      'swap',
      'two deductions exchanged',
      (c) => {
        ;[c.deductions[0].amount, c.deductions[1].amount] = [453.26, 803.1]
      },
    ],
    [
      'reject',
      'amount',
      'full time',
      (c) => {
        c.employee.part_time = 1
      },
    ],
    [
      'reject',
      'member',
      'who approved is somebody else',
      (c) => {
        c.approvals[0].by = 'J. Lopes'
      },
    ],
    [
      'reject',
      'duplicate',
      'a deduction twice with two amounts',
      (c) => {
        c.deductions.push({ code: 'TAX', amount: 700 })
      },
    ],
  ]),
  ...casesOf('returns', returns, [
    [
      'accept',
      'number',
      'prices as numbers',
      (c) => {
        c.items[0].price = 29.9
        c.items[1].price = 149
      },
    ],
    [
      'accept',
      'state',
      'in progress',
      (c) => {
        c.state = 'in progress'
      },
    ],
    [
      'accept',
      'counter',
      'a second attempt',
      (c) => {
        c.attempts = 2
      },
    ],
    [
      'accept',
      'case',
      'the domain of an address in capitals',
      (c) => {
        c.customer.email = 'tom@EXAMPLE.org'
      },
    ],
    [
      'accept',
      'more',
      'what the inspection found',
      (c) => {
        c.inspection = { passed: true, by: 'dock 4' }
      },
    ],
    [
      'accept',
      'unit',
      'the window in weeks does not change what days say',
      (c) => {
        c.window.label = 'one month'
      },
    ],
    [
      'reject',
      'flag',
      'eligible turned',
      (c) => {
        c.refund.eligible = false
      },
    ],
    [
      'reject',
      'amount',
      'a smaller fee',
      (c) => {
        c.refund.restocking_fee_pct = 5
      },
    ],
    [
      'reject',
      'rule',
      'the requirement softened',
      (c) => {
        c.requirements = ['Inspect the jacket after the refund.']
      },
    ],
    [
      'reject',
      'word',
      'worn became unopened',
      (c) => {
        c.items[1].condition = 'unopened'
      },
    ],
    [
      'reject',
      'lost',
      'an item is gone',
      (c) => {
        c.items.pop()
      },
    ],
    [
      'reject',
      'counter',
      'attempts fell',
      (c) => {
        c.attempts = 0
      },
    ],
  ]),
  ...casesOf('venue', venue, [
    [
      'accept',
      'date',
      'the day in words',
      (c) => {
        c.event.date = 'August 22, 2026'
      },
    ],
    [
      'accept',
      'clock',
      'doors on a twelve-hour clock',
      (c) => {
        c.event.doors = '3:30 pm'
      },
    ],
    [
      'accept',
      'space',
      'a space too many',
      (c) => {
        c.vendors.florist = 'Blum  & Co'
      },
    ],
    [
      'accept',
      'more',
      'a photographer',
      (c) => {
        c.vendors.photographer = 'Lumen'
      },
    ],
    [
      'accept',
      'free',
      'no open questions',
      (c) => {
        c.open_questions = []
      },
    ],
    [
      'accept',
      'quantity',
      'the deposit in one text',
      (c) => {
        c.deposit.amount = 3500.0
      },
    ],
    [
      'reject',
      'amount',
      'forty guests more',
      (c) => {
        c.event.guests = 180
      },
    ],
    [
      'reject',
      'order',
      'speeches before dinner',
      (c) => {
        c.timeline = ['ceremony', 'drinks', 'speeches', 'dinner', 'dancing']
      },
    ],
    [
      'reject',
      'flag',
      'nuts are fine',
      (c) => {
        c.menu.nut_free = false
      },
    ],
    [
      'reject',
      'clock',
      'a later curfew',
      (c) => {
        c.curfew = '01:30'
      },
    ],
    [
      'reject',
      'homoglyph',
      'a letter O for a zero in the policy number',
      (c) => {
        c.insurance.policy_no = 'HX-2O-118-7'
      },
    ],
    [
      'reject',
      'null',
      'the hall is unknown again',
      (c) => {
        c.event.hall = null
      },
    ],
  ]),
]
