/** @module A fourth set: an apiary, a wildfire, a vineyard, a zoo, a telescope. */
import { casesOf, drop, type HandoffCase, push, reverse, set } from '../fresh/handoff-case.ts'

const apiary = {
  site: { parcel: 'Obere Matte 3', hives: 14, elevation_m: 640 },
  queens: [
    { hive: 'H-03', marked: 'blue', hatched: '2025-06-02', laying: true },
    { hive: 'H-07', marked: 'white', hatched: '2024-05-19', laying: true },
  ],
  varroa: { method: 'alcohol wash', mites_per_100: 2.4, threshold: 3 },
  treatment: { agent: 'oxalic acid', dose: '5 ml', planned_on: '2026-12-20', status: 'planned' },
  honey: { harvested: '212 kg', water_content: '17.8 %', buyer: null },
  neighbours_informed: true,
  inspections: [{ on: '2026-09-04', by: 'Reto', brood_frames: 6 }],
}

const wildfire = {
  incident: { number: 'AZ-CNF-000417', declared: '2026-07-02T16:40:00-07:00', cause: 'lightning' },
  perimeter: { acres: 3180, contained_pct: 35 },
  crews: [
    { callsign: 'Engine 21', people: 5, sector: 'Alpha' },
    { callsign: 'Hotshots 4', people: 20, sector: 'Delta' },
  ],
  evacuation: { zones: ['Z-12', 'Z-14'], shelters: ['Payson High'], level: 'SET' },
  wind: { from: 'SW', speed_mph: 22, gusts_mph: 38 },
  aircraft: { grounded: false, tail_numbers: ['N130FF', 'N802TX'] },
  escape_route: ['ridge road', 'creek ford', 'highway 87'],
}

const vineyard = {
  lot: { code: 'PN-24-B', variety: 'Pinot noir', vintage: 2024, litres: 2250 },
  barrels: [
    { cask: 11, cooper: 'Seguin', toast: 'medium', new: true },
    { cask: 12, cooper: 'Damy', toast: 'light', new: false },
  ],
  lab: { alcohol: '13.2 %', ph: 3.52, free_so2_mg_l: 28, malolactic: 'complete' },
  bottling: { on: '2026-03-17', bottles: 2980, closure: 'cork' },
  label: { allergens: ['sulphites'], appellation: 'Bündner Herrschaft AOC' },
  blend: { 'Pinot noir': '96 %', Zweigelt: '4 %' },
  tasting: null,
}

const zoo = {
  animal: {
    chip: '985141000573021',
    name: 'Malaika',
    species: 'Giraffa camelopardalis',
    born: '2017-03-28',
    sex: 'female',
  },
  weight: { value: 742, unit: 'kg' },
  medication: [
    { drug: 'meloxicam', dose_mg: 185, every_hours: 24, route: 'oral' },
    { drug: 'omeprazole', dose_mg: 400, every_hours: 12, route: 'oral' },
  ],
  pregnant: true,
  transfer: { to: 'Zoo Basel', papers: { cites: 'CH-2026-00418', valid_until: '2026-11-30' }, crate_height_m: 3.4 },
  diet: { hay: '14 kg', browse: '9 kg', pellets: '2.5 kg' },
  quarantine_days: 30,
}

const telescope = {
  proposal: { id: 'GO-18842', pi: 'Nkechi Obi', cycle: 5 },
  target: { name: 'HD 189733', ra: '20:00:43.71', dec: '+22:42:39.1', epoch: 'J2000' },
  exposures: [
    { filter: 'F444W', seconds: 1200, dithers: 4 },
    { filter: 'F210M', seconds: 900, dithers: 4 },
  ],
  window: { start: '2026-10-01T04:12:00Z', end: '2026-10-03T11:50:00Z' },
  constraints: ['roll angle below 12 degrees', 'no exposure during slew'],
  priority: 'high',
  proprietary_months: 12,
  state: 'scheduled',
}

export const NATURE: readonly HandoffCase[] = [
  ...casesOf('apiary', apiary, [
    ['reject', 'number', 'another mite count', set('/varroa/mites_per_100', 4.2)],
    ['reject', 'member', 'one queen is gone', drop('/queens/1')],
    ['reject', 'enum', 'another colour', set('/queens/0/marked', 'red')],
    ['reject', 'dose', 'ten times the dose', set('/treatment/dose', '50 ml')],
    ['reject', 'boolean', 'the neighbours were not told', set('/neighbours_informed', false)],
    ['reject', 'date', 'inspected a month earlier', set('/inspections/0/on', '2026-08-04')],
    ['accept', 'grows', 'another inspection', push('/inspections', { on: '2026-09-18', by: 'Reto', brood_frames: 5 })],
    ['accept', 'unit', 'the dose in centilitres', set('/treatment/dose', '0.5 cl')],
    ['accept', 'filled', 'a buyer is found', set('/honey/buyer', 'Dorfladen Malans')],
    ['accept', 'state', 'the treatment is done', set('/treatment/status', 'done')],
    ['accept', 'date', 'the day in German form', set('/treatment/planned_on', '20.12.2026')],
    ['accept', 'reordered', 'queens the other way round', reverse('/queens')],
  ]),
  ...casesOf('wildfire', wildfire, [
    ['reject', 'id', 'two digits of the number swapped', set('/incident/number', 'AZ-CNF-000471')],
    ['reject', 'member', 'a zone is no longer evacuated', drop('/evacuation/zones/0')],
    ['reject', 'order', 'another way out', set('/escape_route', ['creek ford', 'ridge road', 'highway 87'])],
    ['reject', 'name', 'the crew works another sector', set('/crews/0/sector', 'Delta')],
    ['reject', 'instant', 'declared an hour later', set('/incident/declared', '2026-07-02T17:40:00-07:00')],
    ['reject', 'boolean', 'aircraft are grounded', set('/aircraft/grounded', true)],
    ['accept', 'instant', 'the same instant in UTC', set('/incident/declared', '2026-07-02T23:40:00Z')],
    ['accept', 'grows', 'another zone', push('/evacuation/zones', 'Z-15')],
    ['accept', 'grows', 'a crew', push('/crews', { callsign: 'Dozer 2', people: 2, sector: 'Alpha' })],
    ['accept', 'superseded', 'the perimeter grew, with a reason', set('/perimeter/acres', 4020), '/perimeter/acres'],
    ['accept', 'grouping', 'the acres grouped', set('/perimeter/acres', '3,180')],
    ['accept', 'reordered', 'tail numbers in another order', reverse('/aircraft/tail_numbers')],
  ]),
  ...casesOf('vineyard', vineyard, [
    ['reject', 'year', 'another vintage', set('/lot/vintage', 2023)],
    ['reject', 'percent', 'another strength', set('/lab/alcohol', '12.3 %')],
    ['reject', 'swap', 'shares of the blend swapped', set('/blend', { 'Pinot noir': '4 %', Zweigelt: '96 %' })],
    ['reject', 'key', 'the sulphur is not told', drop('/lab/free_so2_mg_l')],
    ['reject', 'member', 'the allergen is left out', set('/label/allergens', [])],
    ['reject', 'enum', 'screw caps', set('/bottling/closure', 'screw cap')],
    ['accept', 'unit', 'litres as hectolitres', set('/lot/litres', '22.5 hl')],
    ['accept', 'percent', 'without the space', set('/lab/alcohol', '13.2%')],
    ['accept', 'filled', 'a note from the tasting', set('/tasting', { by: 'Ursina', points: 91 })],
    ['accept', 'grows', 'a third cask', push('/barrels', { cask: 15, cooper: 'Damy', toast: 'light', new: false })],
    ['accept', 'date', 'the day in words', set('/bottling/on', '17 March 2026')],
    ['accept', 'enriched', 'a cask says how full it is', set('/barrels/0/fill_pct', 98)],
  ]),
  ...casesOf('zoo', zoo, [
    ['reject', 'digits', 'another chip', set('/animal/chip', '985141000573012')],
    ['reject', 'dose', 'twice the dose', set('/medication/0/dose_mg', 370)],
    ['reject', 'interval', 'given more often', set('/medication/1/every_hours', 8)],
    ['reject', 'boolean', 'no longer pregnant', set('/pregnant', false)],
    ['reject', 'number', 'a shorter quarantine', set('/quarantine_days', 3)],
    ['reject', 'type', 'papers are a word', set('/transfer/papers', 'in order')],
    ['accept', 'unit', 'the weight in tonnes', set('/weight', { value: 0.742, unit: 't' })],
    ['accept', 'unit', 'pellets in grams', set('/diet/pellets', '2500 g')],
    ['accept', 'date', 'birthday in words', set('/animal/born', 'March 28, 2017')],
    ['accept', 'grows', 'a vaccination', set('/vaccinations', [{ against: 'tetanus', on: '2026-02-02' }])],
    ['accept', 'reordered', 'drugs in another order', reverse('/medication')],
    ['accept', 'superseded', 'weighed anew, with a reason', set('/weight/value', 751), '/weight/value'],
  ]),
  ...casesOf('telescope', telescope, [
    ['reject', 'coordinate', 'south instead of north', set('/target/dec', '-22:42:39.1')],
    ['reject', 'coordinate', 'another right ascension', set('/target/ra', '20:00:34.71')],
    ['reject', 'number', 'a shorter exposure', set('/exposures/1/seconds', 90)],
    ['reject', 'negation', 'the constraint is turned round', set('/constraints/1', 'exposure during slew')],
    ['reject', 'instant', 'the window ends a day later', set('/window/end', '2026-10-04T11:50:00Z')],
    ['reject', 'state', 'back to proposed', set('/state', 'proposed')],
    ['accept', 'instant', 'the start in local time', set('/window/start', '2026-10-01T00:12:00-04:00')],
    ['accept', 'state', 'it was observed', set('/state', 'completed')],
    ['accept', 'grows', 'a third filter', push('/exposures', { filter: 'F356W', seconds: 600, dithers: 2 })],
    ['accept', 'reordered', 'filters in another order', reverse('/exposures')],
    ['accept', 'free', 'an outline of the paper', set('/outline', ['methods', 'results'])],
    ['accept', 'enriched', 'the target has a magnitude', set('/target/magnitude', 7.65)],
  ]),
]
