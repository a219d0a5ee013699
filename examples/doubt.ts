// The bank does not answer: it is not known whether the card was charged. The run is rolled back as far as it can be, somebody looks at the statement and says what
// they found, and recover() undoes what had been done after all.
import { OutcomeUnknown, open, outcomeOf } from 'countersign/agent'

await using cs = await open({ path: ':memory:' })
const reserve = cs.tool((seats: number) => ({ seats }), {
  name: 'reserve',
  compensate: ({ args: [seats] }) => console.log(`released ${seats} seats`),
})
const charge = cs.tool(
  (_cents: number): { payment: string } => {
    throw new OutcomeUnknown('the connection broke')
  },
  {
    name: 'charge',
    compensate: {
      run: ({ args: [cents], result }, { idempotencyKey }) =>
        console.log(`refunded ${cents} of ${result.payment}, once by ${idempotencyKey.length} characters`),
      // A refund under one key is made once, however often it is requested.
      onUnknown: 'retry',
    },
  },
)

try {
  await cs.run({ id: 'order', name: 'order' }, async () => {
    await reserve(2)
    await charge(2500)
  })
} catch (error) {
  console.log(`${error instanceof Error ? error.message.split(' (')[0] : error}: ${outcomeOf(error)?.status}`)
}

const { inDoubt } = await cs.recover()
for (const { callId, tool, args } of inDoubt) {
  console.log(`in doubt: ${tool} ${JSON.stringify(args)}`)
  await cs.resolve(callId, { executed: true, result: { payment: 'p-7' }, reason: 'statement of 3 March, line 4' })
}
const { rolledBack } = await cs.recover()
console.log(rolledBack.map(({ runId, status }) => `${runId}: ${status}`).join())
