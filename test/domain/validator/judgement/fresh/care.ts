/** @module Fresh handoffs: a hospital ward, a delivery company. */
import { casesOf, type HandoffCase, turned } from './handoff-case.ts'

const ward = {
  patient: { mrn: 'P-55120', given_name: 'Ingrid', family_name: 'Solheim', born: '1949-11-02', blood_group: 'A+' },
  admission: { at: '2025-02-11T07:40:00+01:00', ward: 'C4', bed: 12, reason: 'hip fracture', expected_discharge: null },
  allergies: ['codeine', 'latex'],
  prescriptions: [
    { drug: 'enoxaparin', dose: '40 mg', route: 'sc', per_day: 1 },
    { drug: 'paracetamol', dose: '1 g', route: 'oral', per_day: 4 },
  ],
  labs: { haemoglobin: { value: 9.8, unit: 'g/dL' }, potassium: 4.1, creatinine_umol: 88 },
  weight: { value: 61.5, unit: 'kg' },
  resuscitate: true,
  care_plan: { fluids_ml_per_day: 1800, mobilise: 'day 1 after surgery', diet: 'soft' },
  tasks: [
    { id: 't1', what: 'x-ray hip', status: 'completed' },
    { id: 't2', what: 'anaesthesia consult', status: 'scheduled' },
  ],
  last_seen_at: '2025-02-11T09:00:00+01:00',
  summary: 'Awaiting surgery.',
}

const careCases: HandoffCase[] = casesOf('ward', ward, [
  ['accept', 'grows', 'another allergy is known', (c) => c.allergies.push('iodine')],
  [
    'accept',
    'grows',
    'another prescription',
    (c) => c.prescriptions.push({ drug: 'ondansetron', dose: '4 mg', route: 'iv', per_day: 2 }),
  ],
  [
    'accept',
    'filled',
    'the day of discharge is planned now',
    (c) => {
      c.admission.expected_discharge = '2025-02-18'
    },
  ],
  [
    'accept',
    'instant',
    'the same instant in UTC',
    (c) => {
      c.admission.at = '2025-02-11T06:40:00Z'
    },
  ],
  [
    'accept',
    'date',
    'the day of birth in German notation',
    (c) => {
      c.patient.born = '02.11.1949'
    },
  ],
  [
    'accept',
    'unit',
    '61.5 kg are 61,500 g',
    (c) => {
      c.weight = { value: 61500, unit: 'g' }
    },
  ],
  [
    'accept',
    'unit',
    '1 g is 1000 mg',
    (c) => {
      c.prescriptions[1].dose = '1000 mg'
    },
  ],
  [
    'accept',
    'state',
    'the consult took place',
    (c) => {
      c.tasks[1].status = 'done'
    },
  ],
  ['accept', 'order', 'prescriptions in another order', (c) => c.prescriptions.reverse()],
  [
    'accept',
    'clock',
    'seen again',
    (c) => {
      c.last_seen_at = '2025-02-11T13:30:00+01:00'
    },
  ],
  [
    'accept',
    'free',
    'the summary goes on',
    (c) => {
      c.summary = 'Surgery done.'
    },
  ],
  [
    'accept',
    'case',
    'the route in capitals',
    (c) => {
      c.prescriptions[0].route = 'SC'
    },
  ],
  [
    'accept',
    'superseded',
    'the dose was corrected',
    (c) => {
      c.prescriptions[0].dose = '20 mg'
    },
    '/prescriptions/0/dose',
  ],
  [
    'accept',
    'enriched',
    'who prescribed it is known',
    (c) => {
      c.prescriptions[1].by = 'Dr. Lind'
    },
  ],
  [
    'accept',
    'white space',
    'a thin space between number and unit',
    (c) => {
      c.prescriptions[0].dose = '40\u2009mg'
    },
  ],
  [
    'reject',
    'amount',
    'half of the dose',
    (c) => {
      c.prescriptions[0].dose = '20 mg'
    },
  ],
  [
    'reject',
    'unit',
    'grams for milligrams',
    (c) => {
      c.prescriptions[0].dose = '40 g'
    },
  ],
  [
    'reject',
    'unit',
    'pounds for kilograms',
    (c) => {
      c.weight.unit = 'lb'
    },
  ],
  [
    'reject',
    'boolean',
    'not to be resuscitated',
    (c) => {
      c.resuscitate = false
    },
  ],
  [
    'reject',
    'member',
    'an allergy is gone',
    (c) => {
      c.allergies = ['latex']
    },
  ],
  ['reject', 'member', 'a prescription is gone', (c) => c.prescriptions.pop()],
  [
    'reject',
    'enum',
    'another blood group',
    (c) => {
      c.patient.blood_group = 'A-'
    },
  ],
  [
    'reject',
    'date',
    'day and month exchanged',
    (c) => {
      c.patient.born = '1949-02-11'
    },
  ],
  [
    'reject',
    'instant',
    'the same clock time in another zone',
    (c) => {
      c.admission.at = '2025-02-11T07:40:00Z'
    },
  ],
  [
    'reject',
    'state',
    'the x-ray was never made',
    (c) => {
      c.tasks[0].status = 'scheduled'
    },
  ],
  [
    'reject',
    'id',
    'another patient',
    (c) => {
      c.patient.mrn = 'P-55210'
    },
  ],
  [
    'reject',
    'section',
    'the allergies are gone',
    (c) => {
      delete c.allergies
    },
  ],
  [
    'reject',
    'shadow key',
    'a second key for the same',
    (c) => {
      c.Allergies = ['latex']
    },
  ],
  [
    'reject',
    'null',
    'the reason is erased',
    (c) => {
      c.admission.reason = null
    },
  ],
  [
    'reject',
    'clock',
    'seen before it was seen',
    (c) => {
      c.last_seen_at = '2025-02-10T09:00:00+01:00'
    },
  ],
])

const delivery = {
  facts: {
    shipment: {
      tracking_number: 'JD0146009-22',
      service: 'express',
      weight_kg: 14.2,
      declared_value: { amount: 1250, currency: 'CHF' },
      fragile: true,
      pickup_window: ['08:00', '12:00'],
    },
    stops: ['Basel', 'Karlsruhe', 'Frankfurt', 'Hamburg'],
    parcels: [
      { sku: 'LMP-01', pieces: 4, dims_cm: [40, 30, 20] },
      { sku: 'LMP-07', pieces: 1, dims_cm: [90, 30, 30] },
    ],
    consignee: { name: 'Lichthaus Petersen', street: 'Jarrestraße 6', postcode: '22303', phone: '+49 40 555 0199' },
    customs: null,
    attempts: 0,
  },
  entities: ['JD0146009-22', 'Lichthaus Petersen', 'Basel'],
  constraints: ['Signature required.', 'Do not stack.'],
  actions: [
    { id: 'a1', tool: 'book_pickup', status: 'done' },
    { id: 'a2', tool: 'notify_consignee', status: 'pending' },
  ],
  notes: '',
}

const deliveryCases: HandoffCase[] = casesOf('delivery', delivery, [
  [
    'accept',
    'counter',
    'a first attempt was made',
    (c) => {
      c.facts.attempts = 1
    },
  ],
  [
    'accept',
    'state',
    'the consignee was told',
    (c) => {
      c.actions[1].status = 'in progress'
    },
  ],
  [
    'accept',
    'state',
    'the pickup was undone',
    (c) => {
      c.actions[0].status = 'compensated'
    },
  ],
  [
    'accept',
    'keys',
    'keys in another order',
    (c) => {
      const t = turned(c.facts)
      c.facts = t
    },
  ],
  ['accept', 'order', 'constraints in another order', (c) => c.constraints.reverse()],
  ['accept', 'order', 'parcels in another order', (c) => c.facts.parcels.reverse()],
  [
    'accept',
    'entity',
    'an entity without its capitals',
    (c) => {
      c.entities[1] = 'lichthaus petersen'
    },
  ],
  [
    'accept',
    'entity',
    'the entity with its role',
    (c) => {
      c.entities[1] = { name: 'Lichthaus Petersen', role: 'consignee' }
    },
  ],
  [
    'accept',
    'money',
    'the same sum in text',
    (c) => {
      c.facts.shipment.declared_value = '1,250.00 CHF'
    },
  ],
  [
    'accept',
    'money',
    'a display beside the sum',
    (c) => {
      c.facts.shipment.declared_value.display = "CHF 1'250"
    },
  ],
  [
    'accept',
    'null',
    'no word about customs',
    (c) => {
      delete c.facts.customs
    },
  ],
  [
    'accept',
    'filled',
    'customs papers are there',
    (c) => {
      c.facts.customs = { form: 'CN23', cleared: false }
    },
  ],
  ['accept', 'grows', 'a stop after the last one', (c) => c.facts.stops.push('Kiel')],
  [
    'accept',
    'quotes',
    'typographic quotes and spaces',
    (c) => {
      c.constraints[0] = ' Signature\u00a0required. '
    },
  ],
  [
    'accept',
    'free',
    'notes',
    (c) => {
      c.notes = 'Driver called.'
    },
  ],
  [
    'accept',
    'superseded',
    'another window, with a reason',
    (c) => {
      c.facts.shipment.pickup_window = ['10:00', '14:00']
    },
    '/facts/shipment/pickup_window',
  ],
  [
    'reject',
    'order',
    'stops in another order',
    (c) => {
      c.facts.stops = ['Basel', 'Frankfurt', 'Karlsruhe', 'Hamburg']
    },
  ],
  [
    'reject',
    'order',
    'width and height exchanged',
    (c) => {
      c.facts.parcels[0].dims_cm = [30, 40, 20]
    },
  ],
  [
    'reject',
    'currency',
    'francs became euros',
    (c) => {
      c.facts.shipment.declared_value.currency = 'EUR'
    },
  ],
  [
    'reject',
    'amount',
    'one piece more',
    (c) => {
      c.facts.parcels[0].pieces = 5
    },
  ],
  [
    'reject',
    'swap',
    'pieces exchanged',
    (c) => {
      c.facts.parcels[0].pieces = 1
      c.facts.parcels[1].pieces = 4
    },
  ],
  [
    'reject',
    'homoglyph',
    'a Cyrillic letter in the number',
    (c) => {
      c.facts.shipment.tracking_number = 'JD0146009-22'.replace('J', '\u0408')
    },
  ],
  [
    'reject',
    'zero width',
    'an unseen character in the number',
    (c) => {
      c.facts.shipment.tracking_number = 'JD0146009\u200b-22'
    },
  ],
  [
    'reject',
    'code',
    'a postcode that lost a digit',
    (c) => {
      c.facts.consignee.postcode = '2303'
    },
  ],
  [
    'reject',
    'constraint',
    'may be stacked',
    (c) => {
      c.constraints[1] = 'Stack at most two.'
    },
  ],
  [
    'reject',
    'state',
    'the pickup is pending again',
    (c) => {
      c.actions[0].status = 'pending'
    },
  ],
  [
    'reject',
    'counter',
    'fewer attempts',
    (c) => {
      c.facts.attempts = -1
    },
  ],
  [
    'reject',
    'duplicate',
    'one sku, two counts',
    (c) => c.facts.parcels.push({ sku: 'LMP-01', pieces: 9, dims_cm: [40, 30, 20] }),
  ],
  [
    'reject',
    'type',
    'parcels became a count',
    (c) => {
      c.facts.parcels = 2
    },
  ],
  [
    'reject',
    'section',
    'constraints are gone',
    (c) => {
      delete c.constraints
    },
  ],
  [
    'reject',
    'superseded',
    'another path was superseded',
    (c) => {
      c.facts.shipment.fragile = false
    },
    '/facts/shipment/service',
  ],
])

export const CARE: readonly HandoffCase[] = [...careCases, ...deliveryCases]
