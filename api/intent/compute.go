package intent

// HeaderCompute names the compute service that claims a node.
const HeaderCompute = "Temper-Compute-Service"
