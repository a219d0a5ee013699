/** @module Ten trades: what was given, and the books that an agent keeps beside it. */
import type { Json, JsonObject } from '../../../../../schemas/json.ts'
import type { Trade } from './steps.ts'

const minute = (step: number): string => new Date(Date.UTC(2026, 3, 7, 8, 3 * step)).toISOString()
const upTo = <T>(step: number, each: (i: number) => T): T[] => Array.from({ length: step }, (_, i) => each(i))
const pick = <T>(step: number, ...values: readonly T[]): T => values[step % values.length] as T

export const TRADES: readonly Trade[] = [
  {
    name: 'beekeeping',
    given: {
      apiary: { id: 'AP-7', village: 'Sulz', hives: 14, owner: 'Marta Keel' },
      treatment: { agent: 'oxalic acid', dose_ml: 50, last_day: '2026-11-30' },
    },
    books: (step) => ({
      inspection: {
        hive: `H${1 + step}`,
        next_hive: `H${2 + step}`,
        frames_inspected: 10 * step,
        scale_kg: pick(step, 31.2, 30.9, 31.4, 30.7),
        started: step > 0,
      },
      visited: upTo(step, (i) => ({ hive: `H${1 + i}`, mites: (i * 5) % 7 })),
    }),
    moves: [
      { path: '/inspection/hive', as: 'cursor' },
      { path: '/inspection/next_hive', as: 'cursor' },
      { path: '/inspection/frames_inspected', as: 'counter' },
      { path: '/inspection/scale_kg', as: 'gauge' },
      { path: '/inspection/started', as: 'done' },
      { path: '/visited', as: 'log' },
    ],
    spoilt: [
      ['/apiary/hives', 41],
      ['/treatment/agent', 'formic acid'],
      ['/treatment/dose_ml', 500],
      ['/apiary/village', 'Salz'],
    ],
    broken: [
      ['/inspection/frames_inspected', 3],
      ['/inspection/started', false],
      ['/visited/0/mites', 6],
    ],
  },
  {
    name: 'parcels',
    given: {
      depot: { code: 'ZRH2', gate: 'C', capacity: 4200 },
      tour: { driver: 'Nadia Frei', van: 'ZH 204 118', parcels_loaded: 96, cash_float_chf: 150 },
    },
    books: (step) => ({
      progress_of_tour: {
        at_stop: `Stop ${1 + step}`,
        delivered: 3 * step,
        remaining: 96 - 3 * step,
        position: { lat: 47.3 + step / 1000, lon: 8.5 - step / 500 },
        as_of: minute(step),
        delay_min: pick(step, 0, 4, 2, 7),
      },
      events: upTo(step, (i) => `${minute(i)} handed over at stop ${i}`),
    }),
    moves: [
      { path: '/progress_of_tour/at_stop', as: 'cursor' },
      { path: '/progress_of_tour/delivered', as: 'counter' },
      { path: '/progress_of_tour/remaining', as: 'gauge' },
      { path: '/progress_of_tour/position/lat', as: 'gauge' },
      { path: '/progress_of_tour/position/lon', as: 'gauge' },
      { path: '/progress_of_tour/as_of', as: 'clock' },
      { path: '/progress_of_tour/delay_min', as: 'gauge' },
      { path: '/events', as: 'log' },
    ],
    spoilt: [
      ['/tour/parcels_loaded', 69],
      ['/tour/cash_float_chf', 1500],
      ['/depot/gate', 'G'],
      ['/tour/driver', 'Nadia Frey'],
    ],
    broken: [
      ['/progress_of_tour/delivered', 1],
      ['/progress_of_tour/as_of', '2026-04-01T08:00:00.000Z'],
      ['/events/1', 'nothing happened'],
    ],
  },
  {
    name: 'translation',
    given: {
      book: { title: 'Der Wald', chapters: 25, source_language: 'de', target_language: 'pt-BR' },
      glossary: { Forst: 'floresta manejada', Lichtung: 'clareira' },
      rate: { per_word: 0.14, currency: 'EUR' },
    },
    books: (step) => ({
      translating: {
        chapter: 1 + step,
        words_done: 1840 * step,
        pages: upTo(step, (i) => i + 1),
        last_sentence: `Sentence ${step} of the chapter.`,
        reviewed: step > 12,
      },
    }),
    moves: [
      { path: '/translating/chapter', as: 'counter' },
      { path: '/translating/words_done', as: 'counter' },
      { path: '/translating/pages', as: 'log' },
      { path: '/translating/last_sentence', as: 'cursor' },
      { path: '/translating/reviewed', as: 'done' },
    ],
    spoilt: [
      ['/book/target_language', 'pt-PT'],
      ['/glossary/Forst', 'bosque'],
      ['/rate/per_word', 0.41],
      ['/book/chapters', 24],
    ],
    broken: [
      ['/translating/chapter', 1],
      ['/translating/words_done', 40],
      ['/translating/pages', [2, 1]],
    ],
  },
  {
    name: 'bakery',
    given: {
      recipe: { flour_g: 1000, water_g: 720, salt_g: 21, oven_c: 245 },
      customer: { name: 'Hotel Adler', loaves: 60, allergens: ['rye', 'sesame'] },
    },
    books: (step) => ({
      dough: {
        stage: step < 8 ? 'running' : step < 20 ? 'in review' : 'done',
        temperature_c: pick(step, 23.5, 24.1, 24.6),
      },
      folds: step,
      batch: { current: `B${1 + Math.floor(step / 5)}`, queue: upTo(25 - step, (i) => `L${step + i}`) },
    }),
    moves: [
      { path: '/dough/stage', as: 'state', order: ['running', 'in review', 'done'] },
      { path: '/dough/temperature_c', as: 'gauge' },
      { path: '/folds', as: 'counter' },
      { path: '/batch/current', as: 'cursor' },
      { path: '/batch/queue', as: 'free' },
    ],
    spoilt: [
      ['/recipe/salt_g', 210],
      ['/recipe/oven_c', 225],
      ['/customer/allergens/1', 'soy'],
      ['/customer/loaves', 16],
    ],
    broken: [
      ['/folds', 0],
      ['/dough/temperature_c', 'warm'],
    ],
  },
  {
    name: 'orchestra',
    given: {
      concert: { hall: 'KKL', date: '2026-09-12', works: ['Mahler 4', 'Berg: Violin Concerto'], seats: 1840 },
      contract: { soloist: 'I. Faust', fee_eur: 24000, rehearsals: 3 },
    },
    books: (step) => ({
      planning: {
        asked: upTo(step, (i) => `player ${i}`),
        confirmed_players: Math.floor(step / 2),
        waiting_for: `player ${step}`,
        tickets_sold: 31 * step,
        revenue_eur: 31 * step * 45,
        ready: false,
      },
    }),
    moves: [
      { path: '/planning/asked', as: 'log' },
      { path: '/planning/confirmed_players', as: 'counter' },
      { path: '/planning/waiting_for', as: 'cursor' },
      { path: '/planning/tickets_sold', as: 'counter' },
      { path: '/planning/revenue_eur', as: 'counter' },
    ],
    spoilt: [
      ['/contract/fee_eur', 42000],
      ['/concert/date', '2026-09-21'],
      ['/concert/works/0', 'Mahler 5'],
      ['/contract/rehearsals', 2],
    ],
    broken: [
      ['/planning/tickets_sold', 2],
      ['/planning/asked/0', 'another player'],
    ],
  },
  {
    name: 'telescope',
    given: {
      proposal: { id: 'P117-C', pi: 'A. Ordóñez', hours: 18.5, priority: 2 },
      target: { name: 'NGC 1365', ra: '03:33:36.4', dec: '-36:08:25', filter: 'H-alpha' },
    },
    books: (step) => ({
      night: {
        exposure: step,
        seeing_arcsec: pick(step, 0.9, 1.1, 0.8),
        sampled_at: minute(step),
        dome_open: step > 1,
        frames: upTo(step, (i) => ({ file: `n1365-${i}.fits`, counts: 2000 + 13 * i })),
      },
    }),
    moves: [
      { path: '/night/exposure', as: 'counter' },
      { path: '/night/seeing_arcsec', as: 'gauge' },
      { path: '/night/sampled_at', as: 'clock' },
      { path: '/night/dome_open', as: 'done' },
      { path: '/night/frames', as: 'log' },
    ],
    spoilt: [
      ['/target/dec', '-36:08:52'],
      ['/proposal/hours', 8.5],
      ['/target/filter', 'O-III'],
      ['/proposal/priority', 1],
    ],
    broken: [
      ['/night/sampled_at', '2025-01-01T00:00:00.000Z'],
      ['/night/dome_open', false],
      ['/night/frames/1/counts', 9],
    ],
  },
  {
    name: 'election',
    given: {
      ballot: { district: 'Nord-4', seats: 5, registered: 18204, lists: ['A', 'B', 'C'] },
      rules: { threshold_pct: 3, method: "d'Hondt" },
    },
    books: (step) => ({
      counting: {
        polling_station: `S-${100 + step}`,
        counted: 640 * step,
        votes: { A: 300 * step, B: 220 * step, C: 120 * step },
        stations_open: 26 - step,
        updated: minute(step),
      },
    }),
    moves: [
      { path: '/counting/polling_station', as: 'cursor' },
      { path: '/counting/counted', as: 'counter' },
      { path: '/counting/votes/*', as: 'counter' },
      { path: '/counting/stations_open', as: 'gauge' },
      { path: '/counting/updated', as: 'clock' },
    ],
    spoilt: [
      ['/ballot/seats', 6],
      ['/ballot/registered', 18240],
      ['/rules/method', 'Sainte-Laguë'],
      ['/rules/threshold_pct', 5],
    ],
    broken: [
      ['/counting/votes/B', 1],
      ['/counting/counted', 10],
      ['/counting/updated', '2026-01-01T00:00:00.000Z'],
    ],
  },
  {
    name: 'dialysis',
    given: {
      patient: { mrn: '0044-81', blood_group: 'A-', dry_weight_kg: 71.5, anticoagulant: 'heparin' },
      prescription: { hours: 4, flow_ml_min: 300, target_uf_l: 2.1 },
    },
    books: (step) => ({
      session: {
        elapsed_min: 10 * step,
        blood_pressure: pick(step, '128/76', '124/74', '131/80'),
        removed_ml: 84 * step,
        last_check: minute(step),
        machine: { alarm: false, conductivity: pick(step, 13.9, 14.0, 14.1) },
      },
    }),
    moves: [
      { path: '/session/elapsed_min', as: 'counter' },
      { path: '/session/blood_pressure', as: 'gauge' },
      { path: '/session/removed_ml', as: 'counter' },
      { path: '/session/last_check', as: 'clock' },
      { path: '/session/machine/conductivity', as: 'gauge' },
    ],
    spoilt: [
      ['/patient/blood_group', 'A+'],
      ['/patient/anticoagulant', 'none'],
      ['/prescription/target_uf_l', 1.2],
      ['/patient/dry_weight_kg', 75.1],
    ],
    broken: [
      ['/session/removed_ml', 2],
      ['/session/last_check', '2026-01-01T00:00:00.000Z'],
    ],
  },
  {
    name: 'game-master',
    given: {
      party: { names: ['Ilse', 'Bren'], rule_book: '5e', house_rules: { critical: 'max + roll' } },
      quest: { giver: 'Abbot Rhun', reward_gp: 750, deadline: 'midwinter' },
    },
    books: (step) => ({
      scene: {
        location: pick(step, 'gate', 'crypt', 'tower', 'cloister', 'well'),
        round: step,
        hit_points: { Ilse: 31 - step, Bren: 44 - (step % 6) },
        turn_of: pick(step, 'Ilse', 'Bren'),
        seen_clues: upTo(step, (i) => `clue ${i}`),
        door_unlocked: step > 6,
      },
    }),
    moves: [
      { path: '/scene/location', as: 'cursor' },
      { path: '/scene/round', as: 'counter' },
      { path: '/scene/hit_points/*', as: 'gauge' },
      { path: '/scene/turn_of', as: 'cursor' },
      { path: '/scene/seen_clues', as: 'log' },
      { path: '/scene/door_unlocked', as: 'done' },
    ],
    spoilt: [
      ['/quest/reward_gp', 7500],
      ['/party/rule_book', '3.5'],
      ['/party/house_rules/critical', 'double'],
      ['/quest/giver', 'Abbot Rhul'],
    ],
    broken: [
      ['/scene/round', 0],
      ['/scene/seen_clues/0', 'no clue'],
      ['/scene/hit_points/Ilse', 'dead'],
    ],
  },
  {
    name: 'surveying',
    given: {
      parcel: { egrid: 'CH7739', area_m2: 1184, zone: 'W2', owner: 'Gemeinde Flawil' },
      benchmarks: [
        { no: 11, height_m: 612.41 },
        { no: 12, height_m: 618.02 },
      ],
    },
    books: (step) => ({
      field_work: {
        station: `ST${1 + step}`,
        points_measured: 12 * step,
        battery_pct: 100 - 3 * step,
        residual_mm: pick(step, 1.2, 0.8, 1.5),
        status: step < 2 ? 'pending' : step < 24 ? 'in progress' : 'completed',
        points: Object.fromEntries(
          upTo(step, (i): [string, Json] => [`p${i}`, { e: 2730 + i, n: 1250 - i }]),
        ) as JsonObject,
      },
    }),
    moves: [
      { path: '/field_work/station', as: 'cursor' },
      { path: '/field_work/points_measured', as: 'counter' },
      { path: '/field_work/battery_pct', as: 'gauge' },
      { path: '/field_work/residual_mm', as: 'gauge' },
    ],
    spoilt: [
      ['/parcel/area_m2', 1148],
      ['/benchmarks/0/height_m', 612.14],
      ['/parcel/zone', 'W3'],
      ['/parcel/egrid', 'CH7793'],
    ],
    broken: [
      ['/field_work/points_measured', 1],
      ['/field_work/battery_pct', 'low'],
      ['/field_work/points/p0', { e: 1, n: 1 }],
    ],
  },
]
