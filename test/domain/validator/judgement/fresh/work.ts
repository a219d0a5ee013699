/** @module Fresh handoffs: an outage, a course, a trip, a lawsuit. */
import { casesOf, type HandoffCase } from './handoff-case.ts'

const outage = {
  incident: { number: 'INC0093', severity: 2, state: 'triaged', started: '2025-04-02T22:15:09Z', commander: 'Oda' },
  hosts: [
    { hostname: 'cache-7', role: 'replica', memory: '64 GiB' },
    { hostname: 'cache-8', role: 'primary', memory: '64 GiB' },
  ],
  image: 'registry/app:2.10',
  error_budget: { minutes_left: 38, burn_rate: 4.2 },
  steps: ['stop writers', 'promote replica', 'repoint clients'],
  latencies_ms: [120, 480, 120],
  freeze: true,
  last_checked_at: '2025-04-02T22:40:00Z',
  analysis: 'memory pressure',
}

const outageCases: HandoffCase[] = casesOf('outage', outage, [
  [
    'accept',
    'state',
    'mitigated',
    (c) => {
      c.incident.state = 'mitigated'
    },
  ],
  [
    'accept',
    'state',
    'resolved',
    (c) => {
      c.incident.state = 'resolved'
    },
  ],
  [
    'accept',
    'instant',
    'with fractions of zero',
    (c) => {
      c.incident.started = '2025-04-02T22:15:09.000+00:00'
    },
  ],
  [
    'accept',
    'unit',
    '64 GiB are 65536 MiB',
    (c) => {
      c.hosts[0].memory = '65536 MiB'
    },
  ],
  ['accept', 'order', 'hosts in another order', (c) => c.hosts.reverse()],
  [
    'accept',
    'clock',
    'checked again',
    (c) => {
      c.last_checked_at = '2025-04-02T22:45:00Z'
    },
  ],
  [
    'accept',
    'free',
    'another analysis',
    (c) => {
      c.analysis = { cause: 'eviction storm' }
    },
  ],
  ['accept', 'grows', 'a step at the end', (c) => c.steps.push('watch for an hour')],
  ['accept', 'grows', 'another latency', (c) => c.latencies_ms.push(110)],
  [
    'reject',
    'version',
    '2.1 is not 2.10',
    (c) => {
      c.image = 'registry/app:2.1'
    },
  ],
  [
    'reject',
    'enum',
    'primary and replica exchanged',
    (c) => {
      c.hosts[0].role = 'primary'
      c.hosts[1].role = 'replica'
    },
  ],
  [
    'reject',
    'amount',
    'less severe',
    (c) => {
      c.incident.severity = 3
    },
  ],
  [
    'reject',
    'order',
    'promoted before writers stop',
    (c) => {
      c.steps = ['promote replica', 'stop writers', 'repoint clients']
    },
  ],
  [
    'reject',
    'multiset',
    'a latency is gone',
    (c) => {
      c.latencies_ms = [120, 480]
    },
  ],
  [
    'reject',
    'boolean',
    'the freeze is lifted',
    (c) => {
      c.freeze = false
    },
  ],
  [
    'reject',
    'unit',
    'GB are not GiB',
    (c) => {
      c.hosts[1].memory = '64 GB'
    },
  ],
  [
    'reject',
    'instant',
    'ten hours earlier',
    (c) => {
      c.incident.started = '2025-04-02T12:15:09Z'
    },
  ],
  [
    'reject',
    'name',
    'another commander',
    (c) => {
      c.incident.commander = 'Ada'
    },
  ],
])

const course = {
  facts: {
    course: { code: 'PHY-201', credits: 6, language: 'English', capacity: 40 },
    students: [
      { student_id: 'S100', name: 'Wu', grade: '1.3' },
      { student_id: 'S101', name: 'Okoro', grade: '2.0' },
    ],
    exam: { date: '2025-07-14', starts: '09:00', minutes: 90, room: 'H 3' },
    weights: { exam: 0.7, labs: 0.3 },
    prerequisites: ['PHY-101', 'MAT-110'],
    appeals: [],
  },
  constraints: { max_attempts: 3, open_book: false },
  messages: ['hello'],
}

const courseCases: HandoffCase[] = casesOf('course', course, [
  [
    'accept',
    'filled',
    'an appeal came in',
    (c) => {
      c.facts.appeals = [{ student_id: 'S101', about: 'question 4' }]
    },
  ],
  [
    'accept',
    'enriched',
    'a student with a group',
    (c) => {
      c.facts.students[1].group = 'B'
    },
  ],
  [
    'accept',
    'grows',
    'a student more',
    (c) => c.facts.students.push({ student_id: 'S102', name: 'Lund', grade: '3.7' }),
  ],
  ['accept', 'order', 'students by name', (c) => c.facts.students.reverse()],
  ['accept', 'order', 'prerequisites in another order', (c) => c.facts.prerequisites.reverse()],
  [
    'accept',
    'date',
    'the day in words',
    (c) => {
      c.facts.exam.date = '14 July 2025'
    },
  ],
  [
    'accept',
    'free',
    'messages',
    (c) => {
      c.messages = []
    },
  ],
  [
    'accept',
    'superseded',
    'a grade after an appeal',
    (c) => {
      c.facts.students[1].grade = '1.7'
    },
    '/facts/students/1/grade',
  ],
  [
    'reject',
    'grade',
    'a better grade',
    (c) => {
      c.facts.students[1].grade = '1.7'
    },
  ],
  [
    'reject',
    'swap',
    'grades exchanged',
    (c) => {
      c.facts.students[0].grade = '2.0'
      c.facts.students[1].grade = '1.3'
    },
  ],
  [
    'reject',
    'amount',
    'a limit was raised',
    (c) => {
      c.constraints.max_attempts = 4
    },
  ],
  [
    'reject',
    'boolean',
    'open book',
    (c) => {
      c.constraints.open_book = true
    },
  ],
  [
    'reject',
    'member',
    'a prerequisite is gone',
    (c) => {
      c.facts.prerequisites = ['PHY-101']
    },
  ],
  [
    'reject',
    'amount',
    'weights exchanged',
    (c) => {
      c.facts.weights = { exam: 0.3, labs: 0.7 }
    },
  ],
  [
    'reject',
    'date',
    'a day earlier',
    (c) => {
      c.facts.exam.date = '2025-07-13'
    },
  ],
  [
    'reject',
    'code',
    'another course',
    (c) => {
      c.facts.course.code = 'PHY-210'
    },
  ],
  [
    'reject',
    'duplicate',
    'one student, two grades',
    (c) => c.facts.students.push({ student_id: 'S100', name: 'Wu', grade: '4.0' }),
  ],
])

const trip = {
  booking: { locator: 'QX7PLM', status: 'held', party: 2, refundable: false },
  legs: [
    { train: 'ICE 71', date: '2025-06-03', from: 'Hamburg', to: 'Zurich', seat: '61' },
    { train: 'EC 317', date: '2025-06-03', from: 'Zurich', to: 'Milan', seat: null },
  ],
  hotel: { name: 'Hotel Garni', nights: 3, rate: { value: 142.5, currency: 'EUR' }, check_in: '2025-06-03' },
  travellers: ['Mia Brandt', 'Jon Brandt'],
  price_range: [400, 900],
  visas: { required: 'pending' },
}

const tripCases: HandoffCase[] = casesOf('trip', trip, [
  [
    'accept',
    'state',
    'ticketed',
    (c) => {
      c.booking.status = 'ticketed'
    },
  ],
  [
    'accept',
    'state',
    'a check that was pending is over',
    (c) => {
      c.visas.required = 'cleared'
    },
  ],
  [
    'accept',
    'filled',
    'the seat is known',
    (c) => {
      c.legs[1].seat = '14'
    },
  ],
  ['accept', 'order', 'travellers in another order', (c) => c.travellers.reverse()],
  [
    'accept',
    'added',
    'the total of the hotel',
    (c) => {
      c.hotel.total = { value: 427.5, currency: 'EUR' }
    },
  ],
  [
    'accept',
    'money',
    'the rate as text',
    (c) => {
      c.hotel.rate = '142.50 EUR'
    },
  ],
  [
    'accept',
    'superseded',
    'another hotel',
    (c) => {
      c.hotel.name = 'Hotel Post'
    },
    '/hotel/name',
  ],
  [
    'reject',
    'order',
    'the range turned round',
    (c) => {
      c.price_range = [900, 400]
    },
  ],
  [
    'reject',
    'swap',
    'the leg runs the other way',
    (c) => {
      c.legs[0].from = 'Zurich'
      c.legs[0].to = 'Hamburg'
    },
  ],
  [
    'reject',
    'member',
    'a traveller became another',
    (c) => {
      c.travellers[1] = 'Jan Brandt'
    },
  ],
  [
    'reject',
    'member',
    'a leg is gone',
    (c) => {
      c.legs.pop()
    },
  ],
  [
    'reject',
    'amount',
    'a night less',
    (c) => {
      c.hotel.nights = 2
    },
  ],
  [
    'reject',
    'date',
    'a month later',
    (c) => {
      c.hotel.check_in = '2025-07-03'
    },
  ],
  [
    'reject',
    'boolean',
    'refundable',
    (c) => {
      c.booking.refundable = true
    },
  ],
  [
    'reject',
    'id',
    'O for zero',
    (c) => {
      c.booking.locator = 'OX7PLM'
    },
  ],
  [
    'reject',
    'money',
    'another rate as text',
    (c) => {
      c.hotel.rate = '124.50 EUR'
    },
  ],
])

const lawsuit = {
  facts: {
    case: {
      docket: '3 O 118/25',
      court: 'LG Kiel',
      stage: 'pleadings',
      value: { amount: '48.500,00', currency: 'EUR' },
    },
    parties: [
      { name: 'Nordlicht eG', role: 'plaintiff' },
      { name: 'Brise GmbH', role: 'defendant' },
    ],
    deadlines: [{ what: 'reply', due: '2025-09-01' }],
    exhibits: ['K1', 'K2', 'B1'],
    privileged: true,
    contract: { signed: '12 May 2022', notice_days: 30, governing_law: 'Germany' },
  },
  constraints: ['Nothing leaves the firm without review.'],
  requirements: ['Cite each exhibit.'],
  next_step: 'draft reply',
}

const lawsuitCases: HandoffCase[] = casesOf('lawsuit', lawsuit, [
  [
    'accept',
    'state',
    'on to the hearing',
    (c) => {
      c.facts.case.stage = 'oral hearing'
    },
  ],
  [
    'accept',
    'date',
    'the day in figures',
    (c) => {
      c.facts.contract.signed = '2022-05-12'
    },
  ],
  [
    'accept',
    'number',
    'the sum in another notation',
    (c) => {
      c.facts.case.value.amount = '48,500.00'
    },
  ],
  ['accept', 'grows', 'another deadline', (c) => c.facts.deadlines.push({ what: 'rejoinder', due: '2025-10-15' })],
  ['accept', 'grows', 'another exhibit', (c) => c.facts.exhibits.push('B2')],
  ['accept', 'order', 'parties in another order', (c) => c.facts.parties.reverse()],
  [
    'accept',
    'free',
    'the next step',
    (c) => {
      c.next_step = 'file reply'
    },
  ],
  [
    'accept',
    'enriched',
    'counsel is known',
    (c) => {
      c.facts.parties[1].counsel = 'Dr. Thoma'
    },
  ],
  [
    'reject',
    'swap',
    'roles exchanged',
    (c) => {
      c.facts.parties[0].role = 'defendant'
      c.facts.parties[1].role = 'plaintiff'
    },
  ],
  [
    'reject',
    'date',
    'the deadline moved',
    (c) => {
      c.facts.deadlines[0].due = '2025-10-01'
    },
  ],
  [
    'reject',
    'amount',
    'another notice period',
    (c) => {
      c.facts.contract.notice_days = 60
    },
  ],
  [
    'reject',
    'boolean',
    'no longer privileged',
    (c) => {
      c.facts.privileged = false
    },
  ],
  [
    'reject',
    'id',
    'another docket',
    (c) => {
      c.facts.case.docket = '3 O 181/25'
    },
  ],
  [
    'reject',
    'member',
    'an exhibit is gone',
    (c) => {
      c.facts.exhibits = ['K1', 'B1']
    },
  ],
  [
    'reject',
    'constraint',
    'review is optional',
    (c) => {
      c.constraints[0] = 'Nothing leaves the firm without notice.'
    },
  ],
  [
    'reject',
    'restated',
    'another notice period in a copy',
    (c) => {
      c.facts.contract.key_terms = { notice_days: 90, governing_law: 'Germany' }
    },
  ],
  [
    'reject',
    'type',
    'the contract folded into a sentence',
    (c) => {
      c.facts.contract = 'signed in May 2022'
    },
  ],
])

export const WORK: readonly HandoffCase[] = [...outageCases, ...courseCases, ...tripCases, ...lawsuitCases]
