causes();
platformTable();
separations();
layerChart();
distances();
drawGraph();
operators();
subject();
document.documentElement.dataset.ready = 'yes';
