// Branches side by side over one frozen context, joined by each strategy. What did not make it is undone.
import { setTimeout as sleep } from 'node:timers/promises'
import { ForkFailed, open } from 'countersign/agent'

const cs = await open({ path: ':memory:' })
const hold = cs.tool(
  async (hotel: string) => {
    console.log(`hold a room at ${hotel}`)
    return { hotel, hold: `h-${hotel}` }
  },
  { name: 'hold', compensate: ({ result }) => console.log(`let go of ${result.hold}`) },
)

await cs.run({ id: 'trip-1', input: { city: 'Oslo' }, policy: { ungrounded: 'off' } }, async (run) => {
  await run.handoff({ facts: ['two nights in Oslo'], guests: 2 }, { agent: 'planner' })

  // Union: what each branch adds is merged; two that write the same place differently are a conflict.
  const union = await run.fork(
    [
      { agent: 'weather', run: () => ({ facts: ['rain on Sunday'] }) },
      { agent: 'guide', manifest: { writes: ['museums'] }, run: () => ({ museums: ['Munch', 'Fram'] }) },
    ],
    { join: 'union' },
  )
  console.log(`union of ${union.winners.join(' and ')}: ${JSON.stringify(union.output)}`)

  // Vote: the best score is merged, the other rooms are let go.
  const offer = (agent: string, price: number) => ({
    agent,
    run: async () => ({ room: await hold(agent), price }),
  })
  const vote = await run.fork([offer('Palace', 280), offer('Inn', 120)], {
    join: 'vote',
    score: ({ price }) => -Number(price),
  })
  console.log(`vote: ${vote.order.join(' before ')}`)

  // First wins: the first valid result, at once; the others hear of it by their signal.
  const race = await run.fork(
    [
      { agent: 'hasty', run: () => ({ facts: 'who needs facts' }) },
      { agent: 'tram', run: () => sleep(20, { transfer: 'tram' }) },
      { agent: 'taxi', run: (_, { signal }) => sleep(60_000, { transfer: 'taxi' }, { signal }) },
    ],
    { join: 'first_wins' },
  )
  console.log(`race: ${race.receipts.map(({ branch, status }) => `${branch} ${status}`).join(', ')}`)

  // Nothing to merge: an error with a receipt for each branch, and the context is what it was.
  const guess = (agent: string, budget: number) => ({ agent, run: () => ({ budget }) })
  try {
    await run.fork([guess('thrifty', 200), guess('lavish', 900)], { join: 'union' })
  } catch (error) {
    if (!(error instanceof ForkFailed)) throw error
    console.log(`${error.code}: ${error.message}`)
  }
  const { context, step } = await run.context()
  console.log(`step ${step}: ${JSON.stringify(context)}`)
})
await cs.close()
