/** @module Fresh handoffs: a loan desk, a personnel office. */
import { casesOf, type HandoffCase, turned } from './handoff-case.ts'

const loan = {
  application: {
    ref: 'LN-2025-771',
    product: 'fixed',
    term: { value: 5, unit: 'years' },
    rate: '3.85%',
    amount: 240000,
    currency: 'EUR',
  },
  borrower: { iban: 'GB82WEST12345698765432', income_monthly: '4,150.00', dependants: 2, self_employed: false },
  collateral: [
    { parcel: '114/3', kind: 'flat', valuation: 310000 },
    { parcel: '114/9', kind: 'garage', valuation: 22000 },
  ],
  instalments: [1500.25, 1500.25, 1499.8],
  decision: { status: 'under review', by: null },
  exposure: { value: 240, unit: 'k EUR' },
  rules: ['Loan to value at most 80 %.', 'Two signatures above 200,000 EUR.'],
  retries: 1,
  draft: 'Dear Ms. Aalto',
}

const loanCases: HandoffCase[] = casesOf('loan', loan, [
  [
    'accept',
    'unit',
    'five years are 60 months',
    (c) => {
      c.application.term = { value: 60, unit: 'months' }
    },
  ],
  [
    'accept',
    'unit',
    '240 thousand in full',
    (c) => {
      c.exposure = { value: 240000, unit: 'EUR' }
    },
  ],
  [
    'accept',
    'number',
    'grouping left out',
    (c) => {
      c.borrower.income_monthly = '4150'
    },
  ],
  [
    'accept',
    'number',
    'the text became a number',
    (c) => {
      c.borrower.income_monthly = 4150
    },
  ],
  [
    'accept',
    'number',
    'noise of floating point',
    (c) => {
      c.instalments[2] = 1499.8000000000002
    },
  ],
  [
    'accept',
    'percent',
    '3.85 % with a space',
    (c) => {
      c.application.rate = '3.85 %'
    },
  ],
  [
    'accept',
    'code',
    'the IBAN in groups',
    (c) => {
      c.borrower.iban = 'GB82 WEST 1234 5698 7654 32'
    },
  ],
  [
    'accept',
    'state',
    'reviewed and approved',
    (c) => {
      c.decision = { status: 'approved', by: 'M. Aalto' }
    },
  ],
  [
    'accept',
    'counter',
    'tried once more',
    (c) => {
      c.retries = 2
    },
  ],
  ['accept', 'grows', 'another rule', (c) => c.rules.push('Income is proven by three payslips.')],
  [
    'accept',
    'free',
    'the draft goes on',
    (c) => {
      c.draft = 'Dear Ms. Aalto, your loan'
    },
  ],
  [
    'accept',
    'total',
    'the right total of the valuations',
    (c) => {
      c.collateral_count = 2
    },
  ],
  [
    'accept',
    'keys',
    'all keys turned',
    (c) => {
      c.application = turned(c.application)
    },
  ],
  [
    'accept',
    'added',
    'a new section',
    (c) => {
      c.insurance = { provider: 'Nordia', monthly: 31 }
    },
  ],
  [
    'reject',
    'percent',
    'another rate',
    (c) => {
      c.application.rate = '3.58%'
    },
  ],
  [
    'reject',
    'percent',
    'the sign is gone and the value with it',
    (c) => {
      c.application.rate = 3.58
    },
  ],
  [
    'reject',
    'amount',
    'ten times the income',
    (c) => {
      c.borrower.income_monthly = '41,500.00'
    },
  ],
  [
    'reject',
    'currency',
    'dollars',
    (c) => {
      c.application.currency = 'USD'
    },
  ],
  [
    'reject',
    'unit',
    'five months',
    (c) => {
      c.application.term.unit = 'months'
    },
  ],
  [
    'reject',
    'multiset',
    'an instalment is gone',
    (c) => {
      c.instalments = [1500.25, 1499.8]
    },
  ],
  [
    'reject',
    'member',
    'the garage is gone',
    (c) => {
      c.collateral.length = 1
    },
  ],
  [
    'reject',
    'swap',
    'valuations exchanged',
    (c) => {
      c.collateral[0].valuation = 22000
      c.collateral[1].valuation = 310000
    },
  ],
  [
    'reject',
    'id',
    'two digits of the account exchanged',
    (c) => {
      c.borrower.iban = 'GB82WEST12345698764532'
    },
  ],
  [
    'reject',
    'boolean text',
    'false is not the text false',
    (c) => {
      c.borrower.self_employed = 'false'
    },
  ],
  [
    'reject',
    'boolean',
    'self-employed after all',
    (c) => {
      c.borrower.self_employed = true
    },
  ],
  [
    'reject',
    'rule',
    'the limit was raised',
    (c) => {
      c.rules[0] = 'Loan to value at most 90 %.'
    },
  ],
  [
    'reject',
    'total',
    'a count that the list does not give',
    (c) => {
      c.collateral_count = 3
    },
  ],
  [
    'reject',
    'restated',
    'another currency in a copy',
    (c) => {
      c.application.terms = { ref: 'LN-2025-771', product: 'variable' }
    },
  ],
  [
    'reject',
    'code',
    'another parcel',
    (c) => {
      c.collateral[0].parcel = '114/5'
    },
  ],
])

const people = {
  facts: {
    employee: {
      employee_no: '004417',
      first_name: 'Tomás',
      last_name: 'Ferreira',
      hired: '2021-03-01',
      grade: 'L4',
      salary: { amount: 61200, currency: 'EUR' },
    },
    leave: { entitled_days: 28, taken_days: 11.5, carried_over: 0 },
    dependants: [
      { first_name: 'Ana', last_name: 'Ferreira', born: '2016-05-09' },
      { first_name: 'Rui', last_name: 'Ferreira', born: '2019-08-21' },
    ],
    trainings: [{ code: 'GDPR-1', passed: true, on: '2024-09-12' }],
    works_council_informed: false,
    probation_until: '2021-08-31',
    manager: 'k.weber@corp.example',
  },
  requirements: ['Notice period of three months.', 'Bank details are never sent by mail.'],
  actions: [{ id: 'h1', tool: 'draft_contract', status: 'running' }],
  outline: ['intro'],
}

const peopleCases: HandoffCase[] = casesOf('people', people, [
  [
    'accept',
    'date',
    'the day in words',
    (c) => {
      c.facts.employee.hired = 'March 1, 2021'
    },
  ],
  [
    'accept',
    'date',
    'the day in words, day first',
    (c) => {
      c.facts.probation_until = '31 August 2021'
    },
  ],
  [
    'accept',
    'unicode',
    'the name decomposed',
    (c) => {
      c.facts.employee.first_name = 'Toma\u0301s'
    },
  ],
  [
    'accept',
    'mail',
    'the domain in capitals',
    (c) => {
      c.facts.manager = 'k.weber@CORP.example'
    },
  ],
  [
    'accept',
    'state',
    'the contract is drafted',
    (c) => {
      c.actions[0].status = 'succeeded'
    },
  ],
  [
    'accept',
    'ids',
    'dependants get ids',
    (c) => {
      c.facts.dependants.forEach((d: { id?: string }, i: number) => {
        d.id = `dep-${i}`
      })
    },
  ],
  ['accept', 'order', 'dependants in another order', (c) => c.facts.dependants.reverse()],
  [
    'accept',
    'grows',
    'another training',
    (c) => c.facts.trainings.push({ code: 'SEC-2', passed: false, on: '2025-01-20' }),
  ],
  [
    'accept',
    'number',
    'a fraction written with zero',
    (c) => {
      c.facts.leave.taken_days = 11.5
    },
  ],
  [
    'accept',
    'free',
    'another outline',
    (c) => {
      c.outline = ['facts', 'offer']
    },
  ],
  [
    'accept',
    'added',
    'what is left',
    (c) => {
      c.facts.leave.remaining_days = 16.5
    },
  ],
  [
    'accept',
    'superseded',
    'promoted',
    (c) => {
      c.facts.employee.grade = 'L5'
    },
    '/facts/employee/grade',
  ],
  [
    'accept',
    'money',
    'the salary in cents',
    (c) => {
      c.facts.employee.salary = { amount: 6120000, currency: 'EUR cents' }
    },
  ],
  ['accept', 'repeat', 'one requirement said twice', (c) => c.requirements.push('Notice period of three months.')],
  [
    'reject',
    'code',
    'leading zeros are gone',
    (c) => {
      c.facts.employee.employee_no = '4417'
    },
  ],
  [
    'reject',
    'date',
    'another day',
    (c) => {
      c.facts.employee.hired = '2021-01-03'
    },
  ],
  [
    'reject',
    'amount',
    'two digits exchanged',
    (c) => {
      c.facts.employee.salary.amount = 62100
    },
  ],
  [
    'reject',
    'enum',
    'another grade',
    (c) => {
      c.facts.employee.grade = 'L5'
    },
  ],
  [
    'reject',
    'boolean',
    'informed',
    (c) => {
      c.facts.works_council_informed = true
    },
  ],
  [
    'reject',
    'swap',
    'birthdays exchanged',
    (c) => {
      c.facts.dependants[0].born = '2019-08-21'
      c.facts.dependants[1].born = '2016-05-09'
    },
  ],
  [
    'reject',
    'member',
    'a dependant is gone',
    (c) => {
      c.facts.dependants.shift()
    },
  ],
  [
    'reject',
    'duplicate',
    'one child with two birthdays',
    (c) => c.facts.dependants.push({ first_name: 'Ana', last_name: 'Ferreira', born: '2017-05-09' }),
  ],
  [
    'reject',
    'mail',
    'another mailbox',
    (c) => {
      c.facts.manager = 'k.weder@corp.example'
    },
  ],
  [
    'reject',
    'state',
    'running again after it ended',
    (c) => {
      c.actions[0].status = 'queued'
    },
  ],
  [
    'reject',
    'requirement',
    'never became always',
    (c) => {
      c.requirements[1] = 'Bank details are always sent by mail.'
    },
  ],
  [
    'reject',
    'shadow key',
    'a twin in camel case',
    (c) => {
      c.facts.worksCouncilInformed = true
    },
  ],
  [
    'reject',
    'key',
    'the end of probation is gone',
    (c) => {
      delete c.facts.probation_until
    },
  ],
  [
    'reject',
    'superseded',
    'no visible reason is none',
    (c) => {
      c.facts.leave.entitled_days = 30
    },
    '/facts/leave/taken_days',
  ],
])

export const MONEY: readonly HandoffCase[] = [...loanCases, ...peopleCases]
