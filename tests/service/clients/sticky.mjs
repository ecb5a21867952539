// The arms of some units and the errors of some requests, as the Node SDK has them: JSON on standard output.
import { OpenFeature } from "@openfeature/server-sdk";
import { OFREPProvider } from "@openfeature/ofrep-provider";

const [url, key, test] = process.argv.slice(2);

async function asked(name, headers, flag, context) {
  await OpenFeature.setProviderAndWait(name, new OFREPProvider({ baseUrl: url, headers }));
  return OpenFeature.getClient(name).getStringDetails(flag, "default", context);
}

const right = [["Authorization", `Bearer ${key}`]];
const found = {};
for (let i = 0; i < 20; i += 1) {
  const { value, variant, reason } = await asked("right", right, test, { targetingKey: `node-${i}` });
  found[`node-${i}`] = [value, variant, reason];
}
const code = async (...given) => {
  const { value, errorCode } = await asked(...given);
  return [value, errorCode];
};
const errors = {
  missing: await code("right", right, "none", { targetingKey: "u" }),
  nobody: await code("right", right, test, {}),
  wrong: await code("wrong", [["Authorization", "Bearer wrong"]], test, { targetingKey: "u" }),
};
console.log(JSON.stringify({ found, errors }));
