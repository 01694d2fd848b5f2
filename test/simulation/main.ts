import { bundleSimulator, bundleWorkflows } from './search/bundle.ts'
console.log(await bundleSimulator('node_modules/.cache/simulation/main'), await bundleWorkflows('node_modules/.cache/simulation/main'))
process.exit(0)
