/** @module Fifty more, written from docs/judgement.md alone: a translation bureau, a kindergarten, a ground station, a blood bank, a chess federation. */
import { casesOf, drop, type HandoffCase, push, reverse, set } from '../fresh/handoff-case.ts'

const bureau = {
  project: { ref: 'TR-9907', client: 'Ferro Pumpen AG', from: 'de', to: ['fr', 'it'] },
  words: 18420,
  rate: '0.14 EUR',
  deadline: '2026-05-29T16:00:00+02:00',
  glossary: { Dichtung: 'joint', Welle: 'arbre' },
  translators: [
    { name: 'Claire Petit', language: 'fr', sworn: true },
    { name: 'Dario Conti', language: 'it', sworn: false },
  ],
  confidential: true,
  task: 'translate chapter 2',
  assigned_to: 'Claire Petit',
  approved: false,
  chapters_done: 1,
  discount: '5 %',
}

const kindergarten = {
  group: { name: 'Igel', room: 'blue', places: 22, teacher: 'Lotte Brandt' },
  children: [
    { name: 'Mia', born: '2021-08-14', peanuts: 'never', pickup: ['mother', 'aunt'] },
    { name: 'Tarik', born: '2022-01-30', peanuts: 'allowed', pickup: ['father'] },
  ],
  hours: { opens: '07:00', closes: '16:30' },
  fee: { value: 2, unit: 'h', per: 'lesson' },
  lunch: { monday: 'soup', tuesday: 'pasta', wednesday: null },
  outing: { to: 'the fire station', on: '2026-06-12', consent: { Mia: true, Tarik: false } },
  entities: ['Igel', { id: 'Lotte Brandt', role: 'teacher' }],
  present_today: 17,
  last_fire_drill: '2026-03-02',
  comments: ['Tarik slept well.'],
}

const station = {
  satellite: { norad: 43013, name: 'NOAA 20', band: 'X' },
  passes: [
    { orbit: 41210, aos: '2026-04-02T09:14:10Z', los: '2026-04-02T09:27:45Z', max_elevation_deg: 71 },
    { orbit: 41211, aos: '2026-04-02T10:55:02Z', los: '2026-04-02T11:06:30Z', max_elevation_deg: 18 },
  ],
  antenna: { position: [69.66, 18.94], diameter_m: 7.3, tracking: 'auto' },
  downlink: { frequency_mhz: 7812, rate_mbit: 15 },
  data_received_gb: 3.2,
  next_orbit: 41211,
  storage: { disk: 'D4', free_gb: 880 },
  facts: { delay_s: 90, checksum: '9f3ac1' },
  actions: [
    { id: 'point', status: 'done' },
    { id: 'record', status: 'pending' },
  ],
  log: ['Pass 41210 taken.'],
}

const bloodBank = {
  donor: { id: 'D-55102', group: 'O', rhesus: 'negative', weight_kg: 74 },
  donation: { bag: 'G05126003412', volume_ml: 470, taken: '2026-07-08' },
  tests: { hiv_status: 'negative', hbsag: 'negative', syphilis: 'open' },
  processing: { state: 'waiting', centrifuge: 'C3' },
  storage: { fridge: 'K-11', temp_c: 4, until: '2026-08-19' },
  recipients: [],
  constraints: ['Release only after both tests.'],
  released: false,
  nurse: 'Amelie Vogt',
  thaw_minutes: 30,
}

const chess = {
  tournament: { name: 'Open Biel', rounds: 9, time_control: '90 min', arbiter: 'U. Baumann' },
  players: [
    { id: 'P1', name: 'Nils Gran', elo: 2411, points: 3.5 },
    { id: 'P2', name: 'Ada Moreau', elo: 2388, points: 3 },
  ],
  pairings: [{ board: 1, white: 'P1', black: 'P2', result: null }],
  round: 5,
  standings: ['P1', 'P2'],
  prizes: [2000, 1200, 800],
  prize_sum: 4000,
  fair_play: { phones: 'forbidden', scans: 12 },
  schedule: { starts: '14:00', rest_day: '2026-07-23' },
  messages: [{ role: 'user', content: 'Pair round 5.' }],
}

export const CARE: readonly HandoffCase[] = [
  ...casesOf('translation bureau', bureau, [
    [
      'accept',
      'routing',
      'the next chapter goes to somebody else',
      (c) => {
        c.task = 'translate chapter 3'
        c.assigned_to = 'Dario Conti'
        c.chapters_done = 2
      },
    ],
    ['accept', 'routing', 'the work is approved', set('/approved', true)],
    ['accept', 'zone', 'the deadline in UTC', set('/deadline', '2026-05-29T14:00:00Z')],
    ['accept', 'money', 'the rate as an object', set('/rate', { amount: 0.14, currency: 'EUR' })],
    ['accept', 'percent', 'a percentage in a word', set('/discount', '5 percent')],
    ['reject', 'number', 'fewer words', set('/words', 18240)],
    ['reject', 'term', 'another word in the glossary', set('/glossary/Welle', 'vague')],
    ['reject', 'boolean', 'nothing is confidential', set('/confidential', false)],
    ['reject', 'list', 'no Italian any more', drop('/project/to/1')],
    [
      'reject',
      'cross',
      'languages of both changed',
      (c) => {
        c.translators[0].language = 'it'
        c.translators[1].language = 'fr'
      },
    ],
  ]),
  ...casesOf('kindergarten', kindergarten, [
    ['accept', 'open', 'lunch for Wednesday', set('/lunch/wednesday', 'rice')],
    ['accept', 'unit', 'the lesson in minutes', set('/fee', { value: 120, unit: 'min', per: 'lesson' })],
    ['accept', 'name', 'the entity as an object', set('/entities/0', { id: 'Igel', room: 'blue' })],
    ['accept', 'free', 'one more comment', push('/comments', 'Mia painted a hedgehog.')],
    ['accept', 'list', 'children in another order', reverse('/children')],
    ['reject', 'word', 'peanuts are allowed', set('/children/0/peanuts', 'allowed')],
    ['reject', 'list', 'anybody may fetch her', push('/children/0/pickup', 'neighbour of the aunt, not known')],
    ['reject', 'consent', 'a consent that nobody gave', set('/outing/consent/Tarik', true)],
    ['reject', 'date', 'another birthday', set('/children/1/born', '2022-01-13')],
    ['reject', 'date', 'a fire drill that was not', set('/last_fire_drill', '2026-04-02')],
  ]),
  ...casesOf('ground station', station, [
    [
      'accept',
      'unit',
      'the frequency in gigahertz',
      (c) => {
        c.downlink = { frequency_ghz: 7.812, rate_mbit: 15 }
      },
    ],
    ['accept', 'state', 'the pass is recorded', set('/actions/1/status', 'done')],
    ['accept', 'duration', 'a delay in minutes', set('/facts/delay_s', '1.5 minutes')],
    [
      'accept',
      'cursor',
      'the next pass, and what came',
      (c) => {
        c.next_orbit = 41212
        c.data_received_gb = 5.1
        c.log.push('Pass 41211 taken.')
      },
    ],
    [
      'accept',
      'nested',
      'the antenna below the station',
      (c) => {
        c.site = { antenna: c.antenna }
        delete c.antenna
      },
    ],
    ['reject', 'hash', 'another checksum', set('/facts/checksum', '9f3ae1')],
    ['reject', 'state', 'what was done is pending', set('/actions/0/status', 'pending')],
    ['reject', 'position', 'latitude and longitude changed', reverse('/antenna/position')],
    ['reject', 'time', 'a pass ends later', set('/passes/0/los', '2026-04-02T09:37:45Z')],
    ['reject', 'unit', 'metres as feet', set('/antenna/diameter_m', '7.3 ft')],
  ]),
  ...casesOf('blood bank', bloodBank, [
    ['accept', 'open', 'the open test is done', set('/tests/syphilis', 'negative')],
    ['accept', 'state', 'it is processed', set('/processing/state', 'running')],
    ['accept', 'list', 'a recipient', push('/recipients', { ward: '3A', on: '2026-07-12' })],
    [
      'accept',
      'unit',
      'the volume in litres',
      (c) => {
        c.donation.volume_ml = '0.47 l'
      },
    ],
    ['accept', 'text', 'the nurse with a space behind', set('/nurse', 'Amelie Vogt ')],
    ['reject', 'status', 'a test is positive', set('/tests/hiv_status', 'positive')],
    ['reject', 'word', 'another rhesus factor', set('/donor/rhesus', 'positive')],
    ['reject', 'digit', 'another bag', set('/donation/bag', 'G05126003421')],
    ['reject', 'constraint', 'one test is enough', set('/constraints/0', 'Release after one test.')],
    ['reject', 'date', 'kept for longer', set('/storage/until', '2026-09-19')],
  ]),
  ...casesOf('chess federation', chess, [
    ['accept', 'open', 'the result of a game', set('/pairings/0/result', '1-0')],
    ['accept', 'duration', 'the time control in words', set('/tournament/time_control', '1.5 hours')],
    ['accept', 'list', 'messages go on', push('/messages', { role: 'assistant', content: 'Paired.' })],
    ['accept', 'counter', 'the next round', set('/round', 6)],
    [
      'accept',
      'total',
      'one more prize',
      (c) => {
        c.prizes.push(500)
        c.prize_sum = 4500
      },
    ],
    [
      'reject',
      'colour',
      'white and black changed',
      (c) => {
        c.pairings[0].white = 'P2'
        c.pairings[0].black = 'P1'
      },
    ],
    ['reject', 'number', 'another rating', set('/players/1/elo', 2838)],
    ['reject', 'order', 'the standings turned round', reverse('/standings')],
    ['reject', 'total', 'a sum that is none', set('/prize_sum', 4400)],
    ['reject', 'rule', 'phones are allowed', set('/fair_play/phones', 'allowed')],
  ]),
]
